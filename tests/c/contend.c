/*
 * Two clients want one lease, and one file. The second is told who holds it
 * and when to try again; it gets it once the first lets go, under a larger
 * epoch.
 * Usage: contend URL
 */
#include "check.h"

static void held(tenure_client *first, tenure_client *second)
{
    tenure_lease *mine = NULL, *theirs = NULL;
    tenure_error *err = NULL;
    uint64_t epoch;

    OK(tenure_lease_acquire(first, "contended", &mine, 5000, &err));
    epoch = tenure_lease_epoch(mine);

    CHECK(tenure_lease_try_acquire(second, "contended", &theirs, &err)
          == TENURE_LEASE_HELD);
    CHECK(theirs == NULL);
    CHECK(strstr(tenure_error_holder(err), tenure_client_id(first)) != NULL);
    CHECK(tenure_error_epoch(err) == epoch);
    CHECK(tenure_error_retry_after_ms(err) >= 0);
    CHECK(tenure_error_is_retryable(err));
    CHECK(!tenure_error_is_fenced(err));
    CHECK(!tenure_error_outcome_unknown(err));
    CHECK(strstr(tenure_error_message(err), "contended") != NULL);
    tenure_error_free(err);
    err = NULL;

    /* A second acquire in the same client is refused by itself. */
    CHECK(tenure_lease_try_acquire(first, "contended", &theirs, &err)
          == TENURE_LEASE_HELD);
    CHECK(strstr(tenure_error_holder(err), tenure_client_id(first)) != NULL);
    tenure_error_free(err);
    err = NULL;

    OK(tenure_lease_release(mine, 5000, &err));
    OK(tenure_lease_acquire(second, "contended", &theirs, 10000, &err));
    CHECK(tenure_lease_epoch(theirs) > epoch);
    CHECK(tenure_lease_check(theirs) == TENURE_OK);
    CHECK(tenure_lease_check(mine) != TENURE_OK);
    tenure_lease_free(mine);
    tenure_lease_free(theirs);
}

static void freed_without_release(tenure_client *first, tenure_client *second)
{
    tenure_lease *lease = NULL;
    tenure_error *err = NULL;

    OK(tenure_lease_acquire(first, "dropped", &lease, 5000, &err));
    tenure_lease_free(lease);
    lease = NULL;
    /* Well before the soft limit: it was released, it did not lapse. */
    OK(tenure_lease_acquire(second, "dropped", &lease, 10000, &err));
    tenure_lease_free(lease);
}

static void one_writer(tenure_client *first, tenure_client *second)
{
    tenure_file *file = NULL, *other = NULL;
    tenure_reader *reader = NULL;
    tenure_error *err = NULL;
    uint8_t buf[8];
    size_t n = 0;

    OK(tenure_file_create(first, "shared", 0, &file, 5000, &err));
    OK(tenure_file_write(file, (const uint8_t *)"abc", 3, NULL, 5000, &err));
    OK(tenure_file_hflush(file, 5000, &err));
    CHECK(tenure_file_append(second, "shared", &other, 0, &err) == TENURE_LEASE_HELD);
    CHECK(strstr(tenure_error_holder(err), tenure_client_id(first)) != NULL);
    tenure_error_free(err);
    err = NULL;

    /* Aborted without close: what was acked stays for the next writer. */
    OK(tenure_file_abort(file, &err));
    OK(tenure_file_append(second, "shared", &other, 20000, &err));
    CHECK(tenure_file_position(other) == 3);
    CHECK(tenure_file_epoch(other) > tenure_file_epoch(file));
    OK(tenure_file_write(other, (const uint8_t *)"def", 3, NULL, 5000, &err));
    OK(tenure_file_close(other, 5000, &err));
    tenure_file_free(file);
    tenure_file_free(other);

    OK(tenure_reader_open(first, "shared", &reader, &err));
    OK(tenure_reader_read_at(reader, 0, buf, sizeof buf, &n, 5000, &err));
    CHECK(n == 6 && memcmp(buf, "abcdef", 6) == 0);
    tenure_reader_free(reader);
}

int main(int argc, char **argv)
{
    tenure_client *first, *second;
    tenure_error *err = NULL;

    CHECK(argc == 2);
    first = open_client(argv[1], "first");
    second = open_client(argv[1], "second");
    held(first, second);
    freed_without_release(first, second);
    one_writer(first, second);
    OK(tenure_client_close(first, 10000, &err));
    OK(tenure_client_close(second, 10000, &err));
    tenure_client_free(second);
    tenure_client_free(first);
    puts("contend: ok");
    return 0;
}
