/* What the test programs share: a check that says where it failed. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenure.h>

/* Ends the program with the error's text unless the call answers `expected`. */
static void expect(int line, const char *call, tenure_status expected,
                   tenure_status got, tenure_error **err)
{
    if (got != expected) {
        fprintf(stderr, "line %d: %s: expected %s, got %s: %s\n", line, call,
                tenure_status_name(expected), tenure_status_name(got),
                tenure_error_message(*err));
        exit(1);
    }
    if (got == TENURE_OK && *err != NULL) {
        fprintf(stderr, "line %d: %s: an error although it succeeded\n", line, call);
        exit(1);
    }
    if (got != TENURE_OK && tenure_error_status(*err) != got) {
        fprintf(stderr, "line %d: %s: returned %s, the error says %s\n", line, call,
                tenure_status_name(got),
                tenure_status_name(tenure_error_status(*err)));
        exit(1);
    }
    tenure_error_free(*err);
    *err = NULL;
}

/* `err` is a variable of the caller. */
#define EXPECT(status, call) expect(__LINE__, #call, (status), (call), &err)
#define OK(call) EXPECT(TENURE_OK, call)

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "line %d: not true: %s\n", __LINE__, #condition);  \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

/* A client with a soft limit of one second, as the tests want it. */
static tenure_client *open_client(const char *url, const char *node)
{
    tenure_config *config = NULL;
    tenure_client *client = NULL;
    tenure_error *err = NULL;

    OK(tenure_config_new(&config, &err));
    OK(tenure_config_set(config, "soft_ms", "1000", &err));
    OK(tenure_config_set(config, "hard_ms", "60000", &err));
    OK(tenure_config_set(config, "node", node, &err));
    OK(tenure_client_open(url, config, &client, &err));
    tenure_config_free(config);
    CHECK(strlen(tenure_client_id(client)) == 32);
    return client;
}

#endif
