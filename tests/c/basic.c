/*
 * One client, one lease, one file: every noun once, the way it is meant.
 * Usage: basic URL
 */
#include "check.h"

static void lease(tenure_client *client)
{
    tenure_lease *held = NULL;
    tenure_lease_info *info = NULL;
    tenure_error *err = NULL;

    OK(tenure_lease_acquire(client, "orders/0", &held, 5000, &err));
    CHECK(tenure_lease_epoch(held) > 0);
    CHECK(tenure_lease_check(held) == TENURE_OK);
    CHECK(tenure_lease_remaining_ms(held) > 0);

    OK(tenure_lease_inspect(client, "orders/0", &info, &err));
    CHECK(tenure_lease_info_held(info));
    CHECK(tenure_lease_info_epoch(info) == tenure_lease_epoch(held));
    CHECK(strcmp(tenure_lease_info_session(info), tenure_client_id(client)) == 0);
    CHECK(strcmp(tenure_lease_info_node(info), "basic") == 0);
    CHECK(tenure_lease_info_soft_ms(info) == 1000);
    tenure_lease_info_free(info);

    OK(tenure_lease_release(held, 5000, &err));
    OK(tenure_lease_release(held, 5000, &err));
    CHECK(tenure_lease_check(held) != TENURE_OK);
    CHECK(tenure_lease_remaining_ms(held) == 0);
    tenure_lease_free(held);

    OK(tenure_lease_inspect(client, "orders/0", &info, &err));
    CHECK(!tenure_lease_info_held(info));
    tenure_lease_info_free(info);
    EXPECT(TENURE_NOT_FOUND, tenure_lease_inspect(client, "never", &info, &err));
}

static void write_file(tenure_client *client)
{
    const tenure_slice pieces[] = {
        {(const uint8_t *)"two ", 4}, {NULL, 0}, {(const uint8_t *)"three", 5}};
    tenure_file *file = NULL;
    tenure_error *err = NULL;
    tenure_status again;
    size_t accepted = 99;

    OK(tenure_file_create(client, "logs/one", 0, &file, 5000, &err));
    OK(tenure_file_write(file, (const uint8_t *)"one ", 4, &accepted, 5000, &err));
    CHECK(accepted == 4);
    OK(tenure_file_writev(file, pieces, 3, &accepted, 5000, &err));
    CHECK(accepted == 9);
    OK(tenure_file_try_write(file, NULL, 0, &err));
    CHECK(tenure_file_position(file) == 13);
    OK(tenure_file_hflush(file, 5000, &err));
    CHECK(tenure_file_acked(file) == 13);
    OK(tenure_file_try_write(file, (const uint8_t *)"!", 1, &err));
    OK(tenure_file_hsync(file, 5000, &err));
    CHECK(tenure_file_epoch(file) > 0);

    OK(tenure_file_close(file, 5000, &err));
    OK(tenure_file_close(file, 5000, &err));
    EXPECT(TENURE_CLOSED,
           tenure_file_write(file, (const uint8_t *)"x", 1, &accepted, 0, &err));
    CHECK(accepted == 0);
    CHECK(tenure_file_acked(file) == 14);
    tenure_file_free(file);

    /* Close gave the lease up: the file is free at once. */
    again = tenure_file_create(client, "logs/one", 0, &file, 5000, NULL);
    CHECK(again == TENURE_ALREADY_EXISTS);
    EXPECT(TENURE_NOT_FOUND, tenure_file_append(client, "logs/none", &file, 0, &err));
}

static void read_file(tenure_client *client)
{
    tenure_reader *reader = NULL;
    tenure_error *err = NULL;
    uint8_t buf[64];
    size_t n = 0;
    uint64_t visible = 0;

    OK(tenure_reader_open(client, "logs/one", &reader, &err));
    CHECK(tenure_reader_visible_length(reader) == 14);
    OK(tenure_reader_read_at(reader, 4, buf, sizeof buf, &n, 5000, &err));
    CHECK(n == 10 && memcmp(buf, "two three!", 10) == 0);
    OK(tenure_reader_read_at(reader, 14, buf, sizeof buf, &n, 5000, &err));
    CHECK(n == 0);
    OK(tenure_reader_refresh(reader, &visible, 5000, &err));
    CHECK(visible == 14 && tenure_reader_is_closed(reader));
    OK(tenure_reader_wait(reader, 1000, &visible, 5000, &err));
    CHECK(visible == 14);
    tenure_reader_free(reader);
    EXPECT(TENURE_NOT_FOUND, tenure_reader_open(client, "logs/none", &reader, &err));
}

static void by_path(tenure_client *client)
{
    tenure_file_info *info = NULL;
    tenure_file_listing *listing = NULL;
    tenure_error *err = NULL;
    bool closed = false;

    OK(tenure_file_stat(client, "logs/one", &info, &err));
    CHECK(strcmp(tenure_file_info_path(info), "logs/one") == 0);
    CHECK(tenure_file_info_length(info) == 14);
    CHECK(tenure_file_info_is_closed(info));
    CHECK(tenure_file_info_epoch(info) > 0);
    CHECK(tenure_file_info_incarnation(info) == 1);
    tenure_file_info_free(info);
    OK(tenure_file_is_closed(client, "logs/one", &closed, &err));
    CHECK(closed);

    OK(tenure_file_list(client, "logs/", &listing, &err));
    CHECK(tenure_file_listing_count(listing) == 1);
    OK(tenure_file_listing_at(listing, 0, &info, &err));
    EXPECT(TENURE_NOT_FOUND, tenure_file_listing_at(listing, 1, &info, &err));
    tenure_file_listing_free(listing);
    CHECK(strcmp(tenure_file_info_path(info), "logs/one") == 0);
    tenure_file_info_free(info);
}

static void events(tenure_client *client)
{
    tenure_event *event = NULL;
    tenure_text *metrics = NULL;
    tenure_error *err = NULL;

    CHECK(tenure_client_event_fd(client) >= 0);
    OK(tenure_client_poll_event(client, &event, 1000, &err));
    CHECK(tenure_event_kind(event) == TENURE_EVENT_LEASE_GRANTED);
    CHECK(strcmp(tenure_event_resource(event), "lease/orders/0") == 0);
    CHECK(tenure_event_epoch(event) > 0);
    tenure_event_free(event);
    while (tenure_client_poll_event(client, &event, 0, NULL) == TENURE_OK)
        tenure_event_free(event);
    EXPECT(TENURE_WOULD_BLOCK, tenure_client_poll_event(client, &event, 0, &err));
    EXPECT(TENURE_TIMED_OUT, tenure_client_poll_event(client, &event, 10, &err));

    OK(tenure_client_metrics_text(client, &metrics, &err));
    CHECK(strlen(tenure_text_string(metrics)) == tenure_text_length(metrics));
    tenure_text_free(metrics);
}

int main(int argc, char **argv)
{
    tenure_client *client;
    tenure_error *err = NULL;

    CHECK(argc == 2);
    CHECK(tenure_api_version() >= TENURE_API_VERSION);
    CHECK(tenure_has_feature("lease") && !tenure_has_feature("time travel"));
    CHECK(strcmp(tenure_status_name(TENURE_LEASE_HELD), "LEASE_HELD") == 0);

    client = open_client(argv[1], "basic");
    lease(client);
    write_file(client);
    read_file(client);
    by_path(client);
    events(client);
    OK(tenure_client_close(client, 10000, &err));
    OK(tenure_client_close(client, 10000, &err));
    tenure_client_free(client);
    puts("basic: ok");
    return 0;
}
