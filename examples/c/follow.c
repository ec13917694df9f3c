/*
 * Print a file, and go on while somebody writes it: `tail -f` for an
 * append-only file. Needs read permission only.
 *
 *   cc -std=c99 follow.c -ltenure -o follow
 *   ./follow "file://$PWD/demo" logs/today
 */
#include <stdio.h>
#include <tenure.h>

static int failed(const char *what, tenure_error *err)
{
    fprintf(stderr, "%s: %s: %s\n", what,
            tenure_status_name(tenure_error_status(err)), tenure_error_message(err));
    tenure_error_free(err);
    return 1;
}

int main(int argc, char **argv)
{
    tenure_client *client = NULL;
    tenure_reader *reader = NULL;
    tenure_error *err = NULL;
    uint64_t offset = 0, visible;

    if (argc != 3) {
        fprintf(stderr, "usage: %s URL PATH\n", argv[0]);
        return 2;
    }
    if (tenure_client_open(argv[1], NULL, &client, &err) != TENURE_OK)
        return failed("open", err);
    if (tenure_reader_open(client, argv[2], &reader, &err) != TENURE_OK)
        return failed("reader", err);

    /* Waits for one byte more than there is; less than that means closed. */
    do {
        if (tenure_reader_wait(reader, offset + 1, &visible, -1, &err) != TENURE_OK)
            return failed("wait", err);
        while (offset < visible) {
            uint8_t buf[65536];
            size_t n = 0;

            if (tenure_reader_read_at(reader, offset, buf, sizeof buf, &n, 30000, &err)
                != TENURE_OK)
                return failed("read", err);
            fwrite(buf, 1, n, stdout);
            offset += n;
        }
        fflush(stdout);
    } while (!tenure_reader_is_closed(reader) || offset < visible);

    tenure_reader_free(reader);
    tenure_client_free(client);
    return 0;
}
