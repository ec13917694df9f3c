/*
 * Everything a caller can get wrong without lying about its own memory: each
 * mistake is a status, never undefined behaviour. Run it under valgrind.
 * Usage: misuse URL
 */
#include "check.h"

#define BAD TENURE_INVALID_ARGUMENT
#define X ((const uint8_t *)"x")

static void null_handles(void)
{
    tenure_client *client = NULL;
    tenure_lease *lease = NULL;
    tenure_file *file = NULL;
    tenure_event *event = NULL;
    tenure_text *text = NULL;
    tenure_file_info *info = NULL;
    tenure_error *err = NULL;
    uint8_t buf[4];
    size_t n = 7;

    EXPECT(BAD, tenure_client_open(NULL, NULL, &client, &err));
    EXPECT(BAD, tenure_client_open("memory://x", NULL, NULL, &err));
    EXPECT(BAD, tenure_client_close(NULL, 0, &err));
    EXPECT(BAD, tenure_client_poll_event(NULL, &event, 0, &err));
    EXPECT(BAD, tenure_client_metrics_text(NULL, &text, &err));
    EXPECT(BAD, tenure_config_new(NULL, &err));
    EXPECT(BAD, tenure_config_set(NULL, "node", "a", &err));
    EXPECT(BAD, tenure_lease_acquire(NULL, "a", &lease, 0, &err));
    EXPECT(BAD, tenure_lease_release(NULL, 0, &err));
    EXPECT(BAD, tenure_file_create(NULL, "a", 0, &file, 0, &err));
    EXPECT(BAD, tenure_file_write(NULL, X, 1, &n, 0, &err));
    CHECK(n == 0);
    EXPECT(BAD, tenure_file_hflush(NULL, 0, &err));
    EXPECT(BAD, tenure_file_abort(NULL, &err));
    EXPECT(BAD, tenure_reader_read_at(NULL, 0, buf, 4, &n, 0, &err));
    EXPECT(BAD, tenure_file_listing_at(NULL, 0, &info, &err));

    CHECK(tenure_lease_check(NULL) == BAD);
    CHECK(tenure_lease_epoch(NULL) == 0 && tenure_lease_remaining_ms(NULL) == 0);
    CHECK(tenure_file_position(NULL) == 0 && tenure_file_acked(NULL) == 0);
    CHECK(tenure_client_event_fd(NULL) == -1);
    CHECK(strcmp(tenure_client_id(NULL), "") == 0);
    CHECK(tenure_error_status(NULL) == TENURE_OK);
    CHECK(strcmp(tenure_error_message(NULL), "") == 0);
    CHECK(strcmp(tenure_event_message(NULL), "") == 0);
    CHECK(strcmp(tenure_text_string(NULL), "") == 0);

    tenure_client_free(NULL);
    tenure_config_free(NULL);
    tenure_error_free(NULL);
    tenure_event_free(NULL);
    tenure_file_free(NULL);
    tenure_file_info_free(NULL);
    tenure_file_listing_free(NULL);
    tenure_lease_free(NULL);
    tenure_lease_info_free(NULL);
    tenure_reader_free(NULL);
    tenure_text_free(NULL);
}

static void freed_and_foreign(void)
{
    tenure_config *config = NULL, *second = NULL;
    tenure_error *err = NULL;
    char *foreign = malloc(256);
    char *address;
    int i;

    /* Freed: used again, freed again, and not mistaken for its successors. */
    OK(tenure_config_new(&config, &err));
    tenure_config_free(config);
    EXPECT(BAD, tenure_config_set(config, "node", "a", &err));
    tenure_config_free(config);
    for (i = 0; i < 5000; i++) {
        OK(tenure_config_new(&second, &err));
        EXPECT(BAD, tenure_config_set(config, "node", "a", &err));
        tenure_config_free(config);
        OK(tenure_config_set(second, "node", "a", &err));
        tenure_config_free(second);
    }

    /* Of another type. */
    OK(tenure_config_new(&config, &err));
    EXPECT(BAD, tenure_client_close((tenure_client *)(void *)config, 0, &err));
    EXPECT(BAD, tenure_file_write((tenure_file *)(void *)config, X, 1, NULL, 0, &err));
    CHECK(tenure_lease_check((tenure_lease *)(void *)config) == BAD);
    CHECK(tenure_error_status((tenure_error *)(void *)config) == BAD);
    tenure_file_free((tenure_file *)(void *)config);
    OK(tenure_config_set(config, "node", "a", &err));

    /* Near a handle, but not it. */
    address = (char *)config;
    for (i = 1; i < 256; i++) {
        CHECK(tenure_config_set((tenure_config *)(void *)(address + i), "node", "a", NULL)
              == BAD);
        tenure_config_free((tenure_config *)(void *)(address + i));
    }
    tenure_config_free(config);

    /* Not ours at all: refused without being read. */
    memset(foreign, 0xff, 256);
    EXPECT(BAD, tenure_config_set((tenure_config *)(void *)foreign, "node", "a", &err));
    CHECK(tenure_lease_check((tenure_lease *)(void *)(foreign + 1)) == BAD);
    CHECK(tenure_lease_check((tenure_lease *)(uintptr_t)16) == BAD);
    CHECK(tenure_lease_check((tenure_lease *)~(uintptr_t)0) == BAD);
    tenure_config_free((tenure_config *)(void *)foreign);
    free(foreign);
}

static void bad_text(tenure_client *client)
{
    static const char *const paths[] = {"", "/", "/a", "a/", "a//b", "../a", "a/..",
                                        "\xff\xfe"};
    char *huge = malloc(100001);
    tenure_config *config = NULL;
    tenure_lease *lease = NULL;
    tenure_file *file = NULL;
    tenure_reader *reader = NULL;
    tenure_error *err = NULL;
    size_t i;

    memset(huge, 'a', 100000);
    huge[100000] = '\0';
    EXPECT(BAD, tenure_lease_acquire(client, NULL, &lease, 0, &err));
    EXPECT(BAD, tenure_lease_acquire(client, "\xc3", &lease, 0, &err));
    EXPECT(BAD, tenure_lease_acquire(client, huge, &lease, 0, &err));
    EXPECT(BAD, tenure_lease_acquire(client, "_tenure/x", &lease, 0, &err));
    EXPECT(BAD, tenure_lease_break(client, 0, "a", 0, &err));
    EXPECT(BAD, tenure_lease_break(client, TENURE_KIND_LEASE, "a", -1, &err));
    EXPECT(BAD, tenure_file_create(client, huge, 0, &file, 0, &err));
    EXPECT(BAD, tenure_file_create(client, "a", 0x80, &file, 0, &err));
    EXPECT(BAD, tenure_reader_open(client, huge, &reader, &err));
    for (i = 0; i < sizeof paths / sizeof paths[0]; i++)
        CHECK(tenure_file_create(client, paths[i], 0, &file, 0, NULL) == BAD);
    free(huge);

    OK(tenure_config_new(&config, &err));
    EXPECT(BAD, tenure_config_set(config, "no such key", "1", &err));
    EXPECT(BAD, tenure_config_set(config, "soft_ms", "soon", &err));
    EXPECT(BAD, tenure_config_set(config, "soft_ms", NULL, &err));
    tenure_config_free(config);
}

static void bad_lengths(tenure_client *client)
{
    const tenure_slice slices[] = {{X, (size_t)-1}, {X, 2}};
    tenure_file *file = NULL;
    tenure_reader *reader = NULL;
    tenure_error *err = NULL;
    uint8_t buf[4];
    size_t n = 7;

    OK(tenure_file_create(client, "lengths", 0, &file, 5000, &err));
    OK(tenure_file_write(file, NULL, 0, &n, 0, &err));
    CHECK(n == 0);
    OK(tenure_file_writev(file, NULL, 0, NULL, 0, &err));
    EXPECT(BAD, tenure_file_write(file, NULL, 1, &n, 0, &err));
    EXPECT(BAD, tenure_file_write(file, X, (size_t)-1, &n, 0, &err));
    CHECK(n == 0);
    EXPECT(BAD, tenure_file_writev(file, slices, 2, &n, 0, &err));
    EXPECT(BAD, tenure_file_writev(file, slices, (size_t)-1, &n, 0, &err));
    EXPECT(BAD, tenure_file_writev(file, NULL, 1, &n, 0, &err));
    CHECK(tenure_file_position(file) == 0);
    OK(tenure_file_write(file, X, 1, NULL, 0, &err));
    OK(tenure_file_close(file, 5000, &err));

    OK(tenure_reader_open(client, "lengths", &reader, &err));
    EXPECT(BAD, tenure_reader_read_at(reader, 0, NULL, 1, &n, 1000, &err));
    EXPECT(BAD, tenure_reader_read_at(reader, 0, buf, (size_t)-1, &n, 1000, &err));
    EXPECT(BAD, tenure_reader_read_at(reader, 0, buf, 4, NULL, 1000, &err));
    OK(tenure_reader_read_at(reader, 0, NULL, 0, &n, 1000, &err));
    CHECK(n == 0);
    OK(tenure_reader_read_at(reader, (uint64_t)-1, buf, 4, &n, 1000, &err));
    CHECK(n == 0);
    tenure_reader_free(reader);
    tenure_file_free(file);
}

/* Parents first, and calls through what is left. */
static void odd_order(const char *url)
{
    tenure_client *client = open_client(url, "odd");
    tenure_lease *lease = NULL;
    tenure_file *file = NULL;
    tenure_error *err = NULL;

    OK(tenure_lease_acquire(client, "odd", &lease, 5000, &err));
    OK(tenure_file_create(client, "odd", 0, &file, 5000, &err));
    tenure_client_free(client);
    EXPECT(BAD, tenure_client_close(client, 0, &err));
    CHECK(tenure_lease_check(lease) == TENURE_OK);
    OK(tenure_file_write(file, X, 1, NULL, 1000, &err));
    OK(tenure_file_hflush(file, 5000, &err));
    tenure_lease_free(lease);
    CHECK(tenure_lease_check(lease) == BAD);
    tenure_file_free(file);
    tenure_file_free(file);
    EXPECT(BAD, tenure_file_hflush(file, 5000, &err));
}

int main(int argc, char **argv)
{
    tenure_client *client;
    tenure_error *err = NULL;

    CHECK(argc == 2);
    null_handles();
    freed_and_foreign();
    EXPECT(BAD, tenure_client_open("not a url", NULL, &client, &err));
    client = open_client(argv[1], "misuse");
    bad_text(client);
    bad_lengths(client);
    odd_order(argv[1]);
    OK(tenure_client_close(client, 10000, &err));
    tenure_client_free(client);
    puts("misuse: ok");
    return 0;
}
