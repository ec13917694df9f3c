/*
 * A writer is killed with SIGKILL in the middle of writing. The parent waits
 * out its soft limit, takes the file over and finds every byte that the child
 * was told is acked.
 * Usage: takeover URL            (file://, so that two processes share it)
 *        takeover URL write FD   (the child: reports acked lengths to FD)
 */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Byte `i` of the file, so that a reader can tell a lost or moved one. */
static uint8_t pattern(uint64_t i)
{
    return (uint8_t)(i * 31 + i / 251);
}

static int write_until_killed(const char *url, int report)
{
    tenure_client *client = open_client(url, "victim");
    tenure_file *file = NULL;
    tenure_error *err = NULL;
    uint64_t position = 0;

    OK(tenure_file_create(client, "journal", 0, &file, 5000, &err));
    for (;;) {
        uint8_t chunk[777];
        size_t i;

        for (i = 0; i < sizeof chunk; i++)
            chunk[i] = pattern(position + i);
        OK(tenure_file_write(file, chunk, sizeof chunk, NULL, 5000, &err));
        position += sizeof chunk;
        if (position / sizeof chunk % 5 == 0) {
            uint64_t acked;

            OK(tenure_file_hflush(file, 5000, &err));
            acked = tenure_file_acked(file);
            CHECK(write(report, &acked, sizeof acked) == (ssize_t)sizeof acked);
        }
    }
}

/* Starts the child, lets it ack twenty times, kills it; what it was told last. */
static uint64_t kill_a_writer(const char *program, const char *url)
{
    int ends[2], status;
    uint64_t acked = 0, next;
    int reports = 0;
    char fd[16];
    pid_t child;

    CHECK(pipe(ends) == 0);
    snprintf(fd, sizeof fd, "%d", ends[1]);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl(program, program, url, "write", fd, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    while (reports < 20 && read(ends[0], &next, sizeof next) == (ssize_t)sizeof next) {
        acked = next;
        reports++;
    }
    CHECK(reports == 20);
    CHECK(kill(child, SIGKILL) == 0);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    /* Reports that were already under way when it died count as well. */
    while (read(ends[0], &next, sizeof next) == (ssize_t)sizeof next)
        acked = next;
    close(ends[0]);
    return acked;
}

static void verify(tenure_client *client, uint64_t length)
{
    tenure_reader *reader = NULL;
    tenure_error *err = NULL;
    uint64_t offset = 0;

    OK(tenure_reader_open(client, "journal", &reader, &err));
    CHECK(tenure_reader_visible_length(reader) == length);
    while (offset < length) {
        uint8_t buf[4096];
        size_t n = 0, i;

        OK(tenure_reader_read_at(reader, offset, buf, sizeof buf, &n, 5000, &err));
        CHECK(n > 0);
        for (i = 0; i < n; i++)
            CHECK(buf[i] == pattern(offset + i));
        offset += n;
    }
    tenure_reader_free(reader);
}

int main(int argc, char **argv)
{
    tenure_client *client;
    tenure_file *file = NULL;
    tenure_error *err = NULL;
    uint64_t acked, kept;
    uint8_t last;

    if (argc == 4)
        return write_until_killed(argv[1], atoi(argv[3]));
    CHECK(argc == 2);

    acked = kill_a_writer(argv[0], argv[1]);
    CHECK(acked > 0);

    client = open_client(argv[1], "heir");
    EXPECT(TENURE_LEASE_HELD, tenure_file_append(client, "journal", &file, 0, &err));
    OK(tenure_file_append(client, "journal", &file, 30000, &err));
    kept = tenure_file_position(file);
    CHECK(kept >= acked);
    last = pattern(kept);
    OK(tenure_file_write(file, &last, 1, NULL, 5000, &err));
    OK(tenure_file_close(file, 5000, &err));
    tenure_file_free(file);

    verify(client, kept + 1);
    OK(tenure_client_close(client, 10000, &err));
    tenure_client_free(client);
    puts("takeover: ok");
    return 0;
}
