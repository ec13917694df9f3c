/*
 * Four threads write one file; every piece arrives whole, none is lost. Then
 * the handle is freed under their hands: each call finishes or answers
 * INVALID_ARGUMENT, and nothing else happens.
 * Usage: threads URL
 */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <pthread.h>

enum { WRITERS = 4, PIECES = 200, PIECE = 64 };

static tenure_file *shared;

static void *write_pieces(void *letter)
{
    tenure_error *err = NULL;
    uint8_t piece[PIECE];
    int i;

    memset(piece, *(const char *)letter, sizeof piece);
    for (i = 0; i < PIECES; i++)
        OK(tenure_file_write(shared, piece, sizeof piece, NULL, 5000, &err));
    return NULL;
}

static void *write_until_freed(void *letter)
{
    tenure_status status;

    do
        status = tenure_file_write(shared, (const uint8_t *)letter, 1, NULL, 1000, NULL);
    while (status == TENURE_OK);
    CHECK(status == TENURE_INVALID_ARGUMENT);
    return NULL;
}

static void run(void *(*body)(void *), int free_it)
{
    static char letters[] = "abcd";
    pthread_t threads[WRITERS];
    int i;

    for (i = 0; i < WRITERS; i++)
        CHECK(pthread_create(&threads[i], NULL, body, &letters[i]) == 0);
    if (free_it) {
        uint64_t begun = tenure_file_position(shared);

        while (tenure_file_position(shared) < begun + 1000)
            continue;
        tenure_file_free(shared);
    }
    for (i = 0; i < WRITERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void pieces_are_whole(tenure_client *client)
{
    static uint8_t all[WRITERS * PIECES * PIECE];
    int count[WRITERS] = {0, 0, 0, 0};
    tenure_reader *reader = NULL;
    tenure_error *err = NULL;
    size_t n = 0, i, k;

    OK(tenure_reader_open(client, "together", &reader, &err));
    OK(tenure_reader_read_at(reader, 0, all, sizeof all, &n, 5000, &err));
    CHECK(n == sizeof all);
    for (i = 0; i < n; i += PIECE) {
        for (k = 1; k < PIECE; k++)
            CHECK(all[i + k] == all[i]);
        CHECK(all[i] >= 'a' && all[i] < 'a' + WRITERS);
        count[all[i] - 'a']++;
    }
    for (i = 0; i < WRITERS; i++)
        CHECK(count[i] == PIECES);
    tenure_reader_free(reader);
}

int main(int argc, char **argv)
{
    tenure_client *client;
    tenure_error *err = NULL;

    CHECK(argc == 2);
    client = open_client(argv[1], "threads");
    OK(tenure_file_create(client, "together", 0, &shared, 5000, &err));
    run(write_pieces, 0);
    OK(tenure_file_close(shared, 5000, &err));
    tenure_file_free(shared);
    pieces_are_whole(client);

    OK(tenure_file_create(client, "freed", 0, &shared, 5000, &err));
    run(write_until_freed, 1);
    OK(tenure_client_close(client, 10000, &err));
    tenure_client_free(client);
    puts("threads: ok");
    return 0;
}
