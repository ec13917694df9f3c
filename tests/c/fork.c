/*
 * A process with a running library forks. In the child every handle of the
 * parent answers FORKED and frees without effect, and a client of its own
 * works; the parent notices nothing.
 * Usage: fork URL   (file://, so that two processes share it)
 */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

static int in_the_child(const char *url, tenure_client *client, tenure_lease *lease,
                        tenure_file *file)
{
    tenure_error *err = NULL;
    tenure_lease *other = NULL;

    CHECK(tenure_lease_check(lease) == TENURE_FORKED);
    CHECK(tenure_lease_epoch(lease) == 0);
    EXPECT(TENURE_FORKED, tenure_lease_release(lease, 1000, &err));
    EXPECT(TENURE_FORKED,
           tenure_file_write(file, (const uint8_t *)"x", 1, NULL, 1000, &err));
    EXPECT(TENURE_FORKED, tenure_file_hflush(file, 1000, &err));
    EXPECT(TENURE_FORKED, tenure_client_close(client, 1000, &err));
    tenure_file_free(file);
    tenure_lease_free(lease);
    tenure_client_free(client);

    client = open_client(url, "child");
    EXPECT(TENURE_LEASE_HELD, tenure_lease_try_acquire(client, "kept", &other, &err));
    OK(tenure_lease_acquire(client, "own", &other, 5000, &err));
    CHECK(tenure_lease_check(other) == TENURE_OK);
    tenure_lease_free(other);
    OK(tenure_client_close(client, 10000, &err));
    tenure_client_free(client);
    return 0;
}

int main(int argc, char **argv)
{
    tenure_client *client;
    tenure_lease *lease = NULL;
    tenure_file *file = NULL;
    tenure_error *err = NULL;
    int status = 0;
    pid_t child;

    CHECK(argc == 2);
    client = open_client(argv[1], "parent");
    OK(tenure_lease_acquire(client, "kept", &lease, 5000, &err));
    OK(tenure_file_create(client, "forked", 0, &file, 5000, &err));
    OK(tenure_file_write(file, (const uint8_t *)"parent", 6, NULL, 5000, &err));

    child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(in_the_child(argv[1], client, lease, file));
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);

    CHECK(tenure_lease_check(lease) == TENURE_OK);
    OK(tenure_file_hflush(file, 5000, &err));
    CHECK(tenure_file_acked(file) == 6);
    OK(tenure_file_close(file, 5000, &err));
    tenure_file_free(file);
    tenure_lease_free(lease);
    OK(tenure_client_close(client, 10000, &err));
    tenure_client_free(client);
    puts("fork: ok");
    return 0;
}
