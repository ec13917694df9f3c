/*
 * Do something for a resource only while it is ours, and carry the epoch to
 * whoever can check it.
 *
 *   cc -std=c99 leader.c -ltenure -o leader
 *   ./leader "file://$PWD/demo" orders/0
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

/* Waits for the next event and tells it; 1 if the lease may be worked under again. */
static int pause_until_it_is_decided(tenure_client *client)
{
    tenure_event *event = NULL;
    tenure_event_code kind;

    if (tenure_client_poll_event(client, &event, -1, NULL) != TENURE_OK)
        return 0;
    kind = tenure_event_kind(event);
    printf("%s: %s\n", tenure_event_resource(event), tenure_event_message(event));
    tenure_event_free(event);
    return kind != TENURE_EVENT_LEASE_LOST && kind != TENURE_EVENT_SESSION_LOST;
}

static void work(tenure_client *client, const tenure_lease *lease)
{
    int step = 0;

    while (step < 1000) {
        switch (tenure_lease_check(lease)) {
        case TENURE_OK:
            /* Here the receiver gets the epoch and refuses a smaller one. */
            printf("step %d under epoch %llu\n", step++,
                   (unsigned long long)tenure_lease_epoch(lease));
            break;
        case TENURE_LEASE_SUSPENDED:
            if (pause_until_it_is_decided(client))
                break;
            return;
        default:
            puts("lost: somebody else may be working now");
            return;
        }
    }
}

int main(int argc, char **argv)
{
    tenure_client *client = NULL;
    tenure_lease *lease = NULL;
    tenure_error *err = NULL;

    if (argc != 3) {
        fprintf(stderr, "usage: %s URL RESOURCE\n", argv[0]);
        return 2;
    }
    if (tenure_client_open(argv[1], NULL, &client, &err) != TENURE_OK)
        return failed("open", err);
    if (tenure_lease_acquire(client, argv[2], &lease, -1, &err) != TENURE_OK)
        return failed("acquire", err);

    work(client, lease);

    if (tenure_lease_release(lease, 5000, &err) != TENURE_OK)
        return failed("release", err);
    if (tenure_client_close(client, 5000, &err) != TENURE_OK)
        return failed("close", err);
    tenure_lease_free(lease);
    tenure_client_free(client);
    return 0;
}
