/*
 * tenure: who may write?
 *
 * Leases and fenced append-only files over an object store. For each resource
 * at most one process is admitted to write at a time, and a writer that lost
 * its turn without noticing can do no harm: its bytes are refused.
 *
 * This file is generated from src/ffi; change it there.
 *
 * A COMPLETE PROGRAM
 *
 * @code
 * #include <stdio.h>
 * #include <tenure.h>
 *
 * static int failed(const char *what, tenure_error *err)
 * {
 *     fprintf(stderr, "%s: %s: %s\n", what,
 *             tenure_status_name(tenure_error_status(err)),
 *             tenure_error_message(err));
 *     tenure_error_free(err);
 *     return 1;
 * }
 *
 * int main(int argc, char **argv)
 * {
 *     const char *url = argc > 1 ? argv[1] : "memory://example";
 *     const uint8_t line[] = "hello\n";
 *     uint8_t back[sizeof line - 1];
 *     size_t n = 0;
 *     tenure_client *client = NULL;
 *     tenure_file *file = NULL;
 *     tenure_reader *reader = NULL;
 *     tenure_error *err = NULL;
 *
 *     if (tenure_client_open(url, NULL, &client, &err) != TENURE_OK)
 *         return failed("open", err);
 *
 *     // Become the one writer of "greeting", waiting up to 5 s for another.
 *     if (tenure_file_create(client, "greeting", TENURE_CREATE_OVERWRITE,
 *                            &file, 5000, &err) != TENURE_OK)
 *         return failed("create", err);
 *
 *     // Writing copies; flushing waits until the store has it.
 *     if (tenure_file_write(file, line, sizeof line - 1, NULL, -1, &err)
 *             != TENURE_OK
 *         || tenure_file_hflush(file, 5000, &err) != TENURE_OK)
 *         return failed("write", err);
 *     printf("acked %llu bytes under epoch %llu\n",
 *            (unsigned long long)tenure_file_acked(file),
 *            (unsigned long long)tenure_file_epoch(file));
 *     if (tenure_file_close(file, 5000, &err) != TENURE_OK)
 *         return failed("close", err);
 *
 *     if (tenure_reader_open(client, "greeting", &reader, &err) != TENURE_OK
 *         || tenure_reader_read_at(reader, 0, back, sizeof back, &n, 5000,
 *                                  &err) != TENURE_OK)
 *         return failed("read", err);
 *     printf("read back: %.*s", (int)n, (const char *)back);
 *
 *     // Any order will do. Closing keeps the promise, freeing returns at once.
 *     if (tenure_client_close(client, 5000, &err) != TENURE_OK)
 *         return failed("close client", err);
 *     tenure_reader_free(reader);
 *     tenure_file_free(file);
 *     tenure_client_free(client);
 *     return 0;
 * }
 * @endcode
 *
 * GRAMMAR
 *
 *   tenure_status tenure_<noun>_<verb>(handle, inputs..., outputs...,
 *                                      [int64_t timeout_ms,]
 *                                      tenure_error **err);
 *
 * Status.   TENURE_OK is 0. Outputs are written only on success; the one
 *           exception is `accepted` of a write. Outputs must not be NULL
 *           unless their function says so.
 * Error.    `err` may be NULL. It is written only on failure, with an error
 *           that the caller frees; what it held before is not freed. Ask the
 *           predicates (is_retryable, is_fenced, outcome_unknown); statuses are
 *           for switches and logs. There is no hidden last error.
 * Facts.    A function that returns no status tells one fact from memory and
 *           cannot fail: asked of a handle that is not alive it answers zero,
 *           false or the empty text, or what its comment says.
 * Time.     `timeout_ms` < 0 waits for ever, 0 polls. A timeout undoes nothing:
 *           call again. Functions without it are as quick as their comment
 *           says.
 * Text.     In: NUL-terminated UTF-8, copied. Out: NUL-terminated, never NULL,
 *           borrowed from the handle it was asked of, unchanged until that is
 *           freed.
 * Bytes.    Copied before the call returns. A length of 0 needs no pointer.
 * Handles.  Made by the library, freed by their _free and nothing else. Free
 *           them in any order: a child keeps its parent alive. _free(NULL) is
 *           fine. _close and _release keep a promise and wait for it; _free
 *           returns at once and leaves the rest to the background.
 * Threads.  Every function may be called from any thread, with the same handle
 *           at the same time. Only text borrowed from a handle must not be read
 *           while another thread frees that handle.
 * Mistakes. A handle that is NULL, freed, of another type or not a handle at
 *           all, text that is not UTF-8, an impossible length: each answers
 *           TENURE_INVALID_ARGUMENT, and the error names the argument. A handle
 *           that is used while another thread frees it finishes its call or
 *           answers the same.
 * Fork.     In a forked child every handle of the parent answers
 *           TENURE_FORKED and frees without effect; open a new client there.
 * Signals.  The library installs no signal handler, prints nothing and never
 *           ends the process.
 */


#ifndef TENURE_H
#define TENURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif


/* -------------------------------------------------------------------------- */
/* Handles: opaque, made by the library, freed by their _free                 */
/* -------------------------------------------------------------------------- */

/**
 * Why a call failed. Owned by the caller, who frees it; independent of every
 * other handle. Every accessor takes NULL and then answers as if nothing had
 * failed.
 */
typedef struct tenure_error tenure_error;

/**
 * A text made for the caller, who frees it. Independent of every other handle.
 */
typedef struct tenure_text tenure_text;

/**
 * Settings for a client to be opened. A client copies them: a config may be
 * changed, reused and freed at any time afterwards.
 */
typedef struct tenure_config tenure_config;

/**
 * One process's connection to one base URL; it owns one session, which keeps
 * all its leases alive. Leases, files and readers made from it keep it alive
 * after it was freed.
 */
typedef struct tenure_client tenure_client;

/**
 * One thing that happened, as the client's queue handed it out. Owned by the
 * caller; independent of its client.
 */
typedef struct tenure_event tenure_event;

/**
 * A held lease: this client and no other may act for the resource, as long as
 * `tenure_lease_check` says so.
 */
typedef struct tenure_lease tenure_lease;

/** A lease's record as read. Owned by the caller; independent of its client. */
typedef struct tenure_lease_info tenure_lease_info;

/**
 * The writer of a file. Calls of several threads are put in order; each write
 * is one piece.
 */
typedef struct tenure_file tenure_file;

/**
 * A file as its manifest tells it. Owned by the caller; independent of its
 * client.
 */
typedef struct tenure_file_info tenure_file_info;

/**
 * Files as they were listed, in path order. Owned by the caller; independent of
 * its client.
 */
typedef struct tenure_file_listing tenure_file_listing;

/**
 * A reader of one life of a file: an overwritten file goes on being what it
 * was.
 */
typedef struct tenure_reader tenure_reader;


/* -------------------------------------------------------------------------- */
/* Statuses                                                                   */
/* -------------------------------------------------------------------------- */

/**
 * What a call's outcome obliges the caller to do. `TENURE_OK` is zero; the
 * numbers go by decades: 1 to 19 the call itself is wrong, 20 to 39 it would
 * have to wait longer, 40 to 59 somebody else has the authority, 60 to 79 the
 * store, 99 a bug. Numbers are only ever added.
 */
typedef int32_t tenure_status;

/** Done as promised. */
#define TENURE_OK 0

/**
 * The call itself is wrong; the message names argument, value and what was
 * expected.
 */
#define TENURE_INVALID_ARGUMENT 1

/** The handle was closed before. */
#define TENURE_CLOSED 2

/** The process was forked; this handle belongs to the parent. */
#define TENURE_FORKED 3

/** Called from inside one of the library's own callbacks. */
#define TENURE_REENTRANT 4

/** This library or this store does not offer it. */
#define TENURE_UNSUPPORTED 5

/** There is no such file, lease or object. */
#define TENURE_NOT_FOUND 6

/** It exists and the call must not replace it. */
#define TENURE_ALREADY_EXISTS 7

/** The deadline passed; nothing was undone, call again. */
#define TENURE_TIMED_OUT 20

/** The wait was cancelled; nothing was undone. */
#define TENURE_CANCELLED 21

/** It would have to wait. */
#define TENURE_WOULD_BLOCK 22

/** Placement gives this resource to another node. */
#define TENURE_NOT_OWNER 40

/** Somebody else holds the lease; holder and retry-after are told. */
#define TENURE_LEASE_HELD 41

/** Our session lapsed; the lease may come back. */
#define TENURE_LEASE_SUSPENDED 42

/** The lease is gone for good. */
#define TENURE_LEASE_LOST 43

/** A newer holder shut this writer out; it is over. */
#define TENURE_FENCED 44

/** The fleet's liveness is unknown: nobody may be promoted. */
#define TENURE_VIEW_UNKNOWN 45

/** The resource is being recovered; try again soon. */
#define TENURE_RECOVERING 46

/** The store does not answer. */
#define TENURE_STORE_UNAVAILABLE 60

/**
 * The store ignores a condition this library depends on; the property is named.
 */
#define TENURE_STORE_UNSUPPORTED 61

/** The store refuses these credentials. */
#define TENURE_ACCESS_DENIED 62

/** A stored object is damaged; its name is told; nothing was repaired. */
#define TENURE_CORRUPT 63

/** It may or may not have happened. */
#define TENURE_OUTCOME_UNKNOWN 64

/** The store is full. */
#define TENURE_NO_SPACE 65

/** The bucket or container does not exist, or the base is not a directory. */
#define TENURE_BUCKET_NOT_FOUND 66

/** A bug of this library. */
#define TENURE_INTERNAL 99


/* -------------------------------------------------------------------------- */
/* Library: versions, features, log                                           */
/* -------------------------------------------------------------------------- */

/**
 * What this header declares. The library is new enough if `tenure_api_version()
 * >= TENURE_API_VERSION`; it grows with every addition.
 */
#define TENURE_API_VERSION 1

/**
 * How serious a line for the log is: 1 error, 2 warning, 3 information, 4
 * detail.
 */
typedef int32_t tenure_log_level;

/** Something is broken and stays so. */
#define TENURE_LOG_ERROR 1

/** Something failed and is tried again. */
#define TENURE_LOG_WARNING 2

/** Something changed. */
#define TENURE_LOG_INFO 3

/** For looking closer. */
#define TENURE_LOG_DETAIL 4

/**
 * Receives one line for the log, NUL-terminated UTF-8 without line feed at its
 * end, valid during the call. Called on any thread, also on several at once.
 * Every function of this library answers `TENURE_REENTRANT` from inside it.
 */
typedef void (*tenure_log_callback)(void *user,
                                    tenure_log_level level,
                                    const char *line);

/**
 * The version of the interface that the library implements: compare with
 * `TENURE_API_VERSION`. Never blocks; any thread.
 */
uint32_t tenure_api_version(void);

/**
 * The library's own version, e.g. `0.1.0`. Static. Never blocks; any thread.
 */
const char *tenure_version(void);

/**
 * Whether this library has a feature: a noun of this header (`lease`, `file`,
 * `reader`, `event`) or a scheme (`memory://`, `file://`, `s3://`, `gs://`,
 * `az://`). False for a name it does not know, and for NULL. Never blocks; any
 * thread.
 */
bool tenure_has_feature(const char *name);

/**
 * The name of a status without its prefix, e.g. `LEASE_HELD`; `UNKNOWN` for a
 * number this library does not know. Static. Never blocks; any thread.
 */
const char *tenure_status_name(tenure_status status);

/**
 * Sends the library's log lines to `callback(user, level, line)`; NULL turns
 * them off, which is the beginning. One callback for the process; a new one
 * replaces the old. Waits until no thread is inside the old one, so that what
 * `user` points at may be freed afterwards. From inside the callback it does
 * nothing. Any thread.
 */
void tenure_set_log_callback(tenure_log_callback callback,
                             void *user);


/* -------------------------------------------------------------------------- */
/* Errors: why a call failed                                                  */
/* -------------------------------------------------------------------------- */

/**
 * The status the failed call returned. `TENURE_OK` for NULL,
 * `TENURE_INVALID_ARGUMENT` for something that is not an error. Never blocks;
 * any thread.
 */
tenure_status tenure_error_status(const tenure_error *err);

/**
 * One line for people: the resource, what happened, holder and epoch, then the
 * causes. Never NULL. Borrowed from the error. Never blocks; any thread.
 */
const char *tenure_error_message(const tenure_error *err);

/**
 * Whether the same call may succeed later without anything else being done.
 * Never blocks; any thread.
 */
bool tenure_error_is_retryable(const tenure_error *err);

/**
 * Whether this writer or lease is over for good, because its authority went to
 * somebody else or was taken away: stop acting on it, acquire anew. Never
 * blocks; any thread.
 */
bool tenure_error_is_fenced(const tenure_error *err);

/**
 * Whether what was asked may or may not have happened: look before you repeat
 * it. Never blocks; any thread.
 */
bool tenure_error_outcome_unknown(const tenure_error *err);

/**
 * Who holds the resource, as node and session; empty if nobody is named. Never
 * NULL. Borrowed from the error. Never blocks; any thread.
 */
const char *tenure_error_holder(const tenure_error *err);

/** The epoch in force; 0 if none is named. Never blocks; any thread. */
uint64_t tenure_error_epoch(const tenure_error *err);

/**
 * After how many milliseconds trying again makes sense; -1 if nothing is known.
 * Never blocks; any thread.
 */
int64_t tenure_error_retry_after_ms(const tenure_error *err);

/** Frees an error. NULL is fine. Never blocks. */
void tenure_error_free(tenure_error *err);


/* -------------------------------------------------------------------------- */
/* Texts made for the caller                                                  */
/* -------------------------------------------------------------------------- */

/**
 * The text, NUL-terminated UTF-8. Never NULL. Borrowed from `text`. Never
 * blocks; any thread.
 */
const char *tenure_text_string(const tenure_text *text);

/** The length in bytes, without the NUL. Never blocks; any thread. */
size_t tenure_text_length(const tenure_text *text);

/** Frees a text. NULL is fine. Never blocks. */
void tenure_text_free(tenure_text *text);


/* -------------------------------------------------------------------------- */
/* Config: what a client is told before it opens                              */
/* -------------------------------------------------------------------------- */

/**
 * Makes settings with every key at its default. Returns `TENURE_OK`. Never
 * blocks; any thread. The caller frees `*config`.
 */
tenure_status tenure_config_new(tenure_config **config,
                                tenure_error **err);

/**
 * Sets one key. Keys, with their ranges and defaults:
 *
 * - `limits`: preset of soft, hard and renew: `default`, `fast` or `hdfs3`
 * - `soft_ms`: a holder silent this long may be replaced; 1000 or more (60000);
 *   moves `renew_ms` to its half
 * - `hard_ms`: a holder silent this long is recovered unasked; 2 x soft or more
 *   (3600000)
 * - `renew_ms`: renewal period; 100 to soft / 2 (soft / 2)
 * - `node`: how others see this process; letters, digits, `_ . -` (`client`)
 * - `in_flight`: segment PUTs in flight per writer; 1 to 64 (8)
 * - `segment_max`: largest segment in bytes; 65536 to 67108864 (4194304)
 * - `max_packets`: un-acked 64 KiB packets per writer; 2 to 65536 (in_flight x
 *   segment_max + 80 packets)
 * - `memory_budget`: un-acked bytes of all writers of the process; 1048576 or
 *   more (1073741824)
 * - `request_timeout_ms`: one data request; 100 to 600000 (30000)
 * - `ack_timeout_ms`: how long a segment is resent before the writer gives up;
 *   1000 to 3600000 (480000)
 * - `data_workers`: threads of the data runtime; 2 to 256 (cores, 2 to 4)
 * - `fsync`: `file://`: flush to disk before acknowledging; `true` or `false`
 *   (`true`)
 * - `store.*`: option of the store's own client, e.g. `store.aws_endpoint`;
 *   never printed
 *
 * Returns `TENURE_OK`, or `TENURE_INVALID_ARGUMENT` with key, value and range
 * in the message; nothing is changed then. Never blocks; any thread.
 */
tenure_status tenure_config_set(tenure_config *config,
                                const char *key,
                                const char *value,
                                tenure_error **err);

/** Frees settings. NULL is fine. Never blocks. */
void tenure_config_free(tenure_config *config);


/* -------------------------------------------------------------------------- */
/* Client: one process's connection to one base URL                           */
/* -------------------------------------------------------------------------- */

/**
 * Opens a base URL: `memory://name`, `file:///folder`, `s3://bucket/prefix`,
 * `gs://bucket/prefix` or `az://container/prefix`. Credentials come from the
 * cloud's own environment variables, settings from `config`, or the defaults if
 * that is NULL. Checks both and sends nothing: the session starts with the
 * first acquire, create or append, so that reading needs read permission only.
 *
 * Returns `TENURE_OK`; `TENURE_INVALID_ARGUMENT` for a URL that cannot be one,
 * a scheme this library does not know or a combination of settings that cannot
 * work. Does not wait for the network; any thread. The caller frees `*client`.
 */
tenure_status tenure_client_open(const char *url,
                                 const tenure_config *config,
                                 tenure_client **client,
                                 tenure_error **err);

/**
 * The identity of the client's session, 32 hexadecimal digits: what others see
 * as the holder. Empty if there is no such client. Borrowed from the client.
 * Never blocks; any thread.
 */
const char *tenure_client_id(const tenure_client *client);

/**
 * Releases every lease, ends the session and waits until the store knows both.
 * The handle stays valid and is still to be freed; calls on it and its children
 * answer `TENURE_CLOSED`. Idempotent.
 *
 * Returns `TENURE_OK`; `TENURE_TIMED_OUT` if it is not done yet: nothing is
 * undone, call again. Blocks up to `timeout_ms`; any thread.
 */
tenure_status tenure_client_close(tenure_client *client,
                                  int64_t timeout_ms,
                                  tenure_error **err);

/**
 * Frees the handle. Without a close before, and once the last lease, file and
 * reader made from it are freed too, the session is ended in the background.
 * NULL is fine. Never blocks.
 */
void tenure_client_free(tenure_client *client);

/**
 * Takes the oldest event from the client's queue, waiting for one up to
 * `timeout_ms`.
 *
 * Returns `TENURE_OK`; `TENURE_WOULD_BLOCK` if `timeout_ms` is 0 and the queue
 * is empty; `TENURE_TIMED_OUT` if none came in time; `TENURE_CLOSED` if none
 * can come any more. Blocks up to `timeout_ms`; any thread, each event goes to
 * one caller. The caller frees `*event`.
 */
tenure_status tenure_client_poll_event(tenure_client *client,
                                       tenure_event **event,
                                       int64_t timeout_ms,
                                       tenure_error **err);

/**
 * A descriptor that polls readable while events are queued: put it into `poll`,
 * `epoll` or an event loop, then call `tenure_client_poll_event` with 0 until
 * it answers `TENURE_WOULD_BLOCK`. Do not read, write or close it. -1 if there
 * is no such client. Belongs to the client. Never blocks; any thread.
 */
int tenure_client_event_fd(const tenure_client *client);

/**
 * The client's counters in Prometheus text form. Returns `TENURE_OK`. Never
 * blocks; any thread. The caller frees `*text`.
 */
tenure_status tenure_client_metrics_text(const tenure_client *client,
                                         tenure_text **text,
                                         tenure_error **err);


/* -------------------------------------------------------------------------- */
/* Events: what happened to a client                                          */
/* -------------------------------------------------------------------------- */

/**
 * What happened. Numbers are only ever added: ignore a kind you do not know.
 */
typedef int32_t tenure_event_code;

/** A lease was acquired. */
#define TENURE_EVENT_LEASE_GRANTED 1

/**
 * The session lapsed or a notice came: the lease is not valid now and may come
 * back.
 */
#define TENURE_EVENT_LEASE_SUSPENDED 2

/** A suspended lease is valid again, under the same epoch. */
#define TENURE_EVENT_LEASE_RESUMED 3

/** A lease that was granted is gone for good. */
#define TENURE_EVENT_LEASE_LOST 4

/** A writer was shut out by a newer holder. */
#define TENURE_EVENT_FENCED 5

/** The fleet's view changed. */
#define TENURE_EVENT_VIEW_CHANGED 6

/** A cell's placement owner changed. */
#define TENURE_EVENT_OWNER_CHANGED 7

/** A managed cell was opened here. */
#define TENURE_EVENT_CELL_GAINED 8

/** A managed cell is about to be handed over. */
#define TENURE_EVENT_CELL_LOSING 9

/** A managed cell is no longer here. */
#define TENURE_EVENT_CELL_LOST 10

/** Somebody asks the holder to hand over. */
#define TENURE_EVENT_HANDOVER_WANTED 11

/** A dead holder's resource was recovered. */
#define TENURE_EVENT_RECOVERED 12

/** Recovery failed so often that it now waits for a person. */
#define TENURE_EVENT_QUARANTINED 13

/** The session is gone for good, and every lease with it. */
#define TENURE_EVENT_SESSION_LOST 14

/** A line for a log. */
#define TENURE_EVENT_LOG 15

/**
 * What happened, one of `TENURE_EVENT_*`; 0 if there is no such event. Never
 * blocks; any thread.
 */
tenure_event_code tenure_event_kind(const tenure_event *event);

/**
 * The resource concerned as `kind/name`, e.g. `lease/orders`; empty for the
 * client as a whole. Borrowed from the event. Never blocks; any thread.
 */
const char *tenure_event_resource(const tenure_event *event);

/** The epoch concerned; 0 if none. Never blocks; any thread. */
uint64_t tenure_event_epoch(const tenure_event *event);

/**
 * Who holds the resource now; empty if unknown. Borrowed from the event. Never
 * blocks; any thread.
 */
const char *tenure_event_holder(const tenure_event *event);

/** One clause for people. Borrowed from the event. Never blocks; any thread. */
const char *tenure_event_message(const tenure_event *event);

/** Frees an event. NULL is fine. Never blocks. */
void tenure_event_free(tenure_event *event);


/* -------------------------------------------------------------------------- */
/* Leases: who may act for a resource                                         */
/* -------------------------------------------------------------------------- */

/**
 * Acquires the lease `name`, waiting for its holder up to `timeout_ms`.
 *
 * Returns `TENURE_OK`; `TENURE_LEASE_HELD` if somebody, perhaps this client,
 * still holds it at the end (the error tells holder, epoch and when to retry);
 * `TENURE_TIMED_OUT` if the store did not answer in time;
 * `TENURE_INVALID_ARGUMENT` for a name that cannot be one;
 * `TENURE_STORE_UNSUPPORTED` if the store ignores the conditions that leases
 * depend on. A lease that the store grants after the call gave up is released
 * in the background. Blocks up to `timeout_ms`; any thread. The caller frees
 * `*lease`.
 */
tenure_status tenure_lease_acquire(tenure_client *client,
                                   const char *name,
                                   tenure_lease **lease,
                                   int64_t timeout_ms,
                                   tenure_error **err);

/**
 * Acquires the lease `name` if nobody holds it now: asks the store, does not
 * wait for a holder.
 *
 * Returns as `tenure_lease_acquire`. Blocks for the requests alone; any thread.
 * The caller frees `*lease`.
 */
tenure_status tenure_lease_try_acquire(tenure_client *client,
                                       const char *name,
                                       tenure_lease **lease,
                                       tenure_error **err);

/**
 * The lease's epoch, its fencing token: larger than every one given out before
 * for this resource. Send it along with what you do under the lease, and let
 * the receiver refuse a smaller one. 0 if there is no such lease. Never blocks;
 * any thread.
 */
uint64_t tenure_lease_epoch(const tenure_lease *lease);

/**
 * May I still say yes, here, now? Memory and one clock read: cheap enough to
 * ask before every act.
 *
 * Returns `TENURE_OK`; `TENURE_LEASE_SUSPENDED` if the session could not be
 * renewed in time, so that others may take over: pause, it may come back;
 * `TENURE_LEASE_LOST` if it is gone for good; `TENURE_INVALID_ARGUMENT` if
 * there is no such lease. No error object. Never blocks; any thread.
 */
tenure_status tenure_lease_check(const tenure_lease *lease);

/**
 * For how many milliseconds `tenure_lease_check` will say yes without another
 * renewal: start nothing that takes longer. 0 unless it says yes now. Never
 * blocks; any thread.
 */
int64_t tenure_lease_remaining_ms(const tenure_lease *lease);

/**
 * Gives the lease up and waits until the store knows. From this call on
 * `tenure_lease_check` refuses. The handle stays valid and is still to be
 * freed. Idempotent.
 *
 * Returns `TENURE_OK`; `TENURE_TIMED_OUT` if it is not done yet: call again;
 * `TENURE_LEASE_LOST` if it was gone before. Blocks up to `timeout_ms`; any
 * thread.
 */
tenure_status tenure_lease_release(tenure_lease *lease,
                                   int64_t timeout_ms,
                                   tenure_error **err);

/**
 * Frees the handle; a lease that is still held is released in the background.
 * NULL is fine. Never blocks.
 */
void tenure_lease_free(tenure_lease *lease);


/* -------------------------------------------------------------------------- */
/* Leases by name, without holding them                                       */
/* -------------------------------------------------------------------------- */

/**
 * Which family a leased resource belongs to. A file and a bare lease of one
 * name never share a record.
 */
typedef int32_t tenure_kind;

/** An append-only file. */
#define TENURE_KIND_FILE 1

/** A cell, which is one database. */
#define TENURE_KIND_CELL 2

/** A bare lease. */
#define TENURE_KIND_LEASE 3

/**
 * Reads the record of the bare lease `name`. Starts no session and needs read
 * permission only.
 *
 * Returns `TENURE_OK`; `TENURE_NOT_FOUND` if nobody ever acquired it. Blocks
 * for the requests; any thread. The caller frees `*info`.
 */
tenure_status tenure_lease_inspect(tenure_client *client,
                                   const char *name,
                                   tenure_lease_info **info,
                                   tenure_error **err);

/**
 * Takes a lease away from a holder that shows no life for `observe_ms`,
 * whatever its limits say. For operators: the holder may be alive and only cut
 * off; its epoch is ended, so that what it sends under it is refused.
 *
 * Returns `TENURE_OK` once the lease is free; `TENURE_LEASE_HELD` if its holder
 * was renewed meanwhile; `TENURE_NOT_FOUND` if there is no such record. Blocks
 * for `observe_ms` and the requests; any thread.
 */
tenure_status tenure_lease_break(tenure_client *client,
                                 tenure_kind kind,
                                 const char *name,
                                 int64_t observe_ms,
                                 tenure_error **err);

/**
 * Whether somebody holds it by the record; its session may have lapsed, see
 * `tenure_lease_info_age_ms`. Never blocks; any thread.
 */
bool tenure_lease_info_held(const tenure_lease_info *info);

/** The epoch in force. Never blocks; any thread. */
uint64_t tenure_lease_info_epoch(const tenure_lease_info *info);

/**
 * The node name of the holder, or of the last one. Never NULL. Borrowed from
 * `info`. Never blocks; any thread.
 */
const char *tenure_lease_info_node(const tenure_lease_info *info);

/**
 * The session of the holder, or of the last one: what its `tenure_client_id`
 * says. Never NULL. Borrowed from `info`. Never blocks; any thread.
 */
const char *tenure_lease_info_session(const tenure_lease_info *info);

/**
 * The holder's soft limit: a holder silent for longer may be replaced. Never
 * blocks; any thread.
 */
int64_t tenure_lease_info_soft_ms(const tenure_lease_info *info);

/**
 * How long ago the holder's session was renewed, by the store's clock; -1 if
 * that is unknown. Never blocks; any thread.
 */
int64_t tenure_lease_info_age_ms(const tenure_lease_info *info);

/** Frees a lease's record. NULL is fine. Never blocks. */
void tenure_lease_info_free(tenure_lease_info *info);


/* -------------------------------------------------------------------------- */
/* Files: the one writer of an append-only file                               */
/* -------------------------------------------------------------------------- */

/**
 * `tenure_file_create`: replace an existing file instead of
 * `TENURE_ALREADY_EXISTS`; its former writer is fenced.
 */
#define TENURE_CREATE_OVERWRITE 1

/** A piece of memory, for `tenure_file_writev`. */
typedef struct {
    /** Where it begins; may be NULL if `len` is zero. */
    const uint8_t *bytes;
    /** How many bytes. */
    size_t len;
} tenure_slice;

/**
 * Creates the file `path` and becomes its writer, waiting for a former one up
 * to `timeout_ms`. `flags` is 0 or `TENURE_CREATE_OVERWRITE`.
 *
 * Returns `TENURE_OK`; `TENURE_ALREADY_EXISTS`; `TENURE_LEASE_HELD` if another
 * writer is active (the error tells who); `TENURE_TIMED_OUT`;
 * `TENURE_INVALID_ARGUMENT` for a path that cannot be one. Blocks up to
 * `timeout_ms`; any thread. The caller frees `*file`.
 */
tenure_status tenure_file_create(tenure_client *client,
                                 const char *path,
                                 uint32_t flags,
                                 tenure_file **file,
                                 int64_t timeout_ms,
                                 tenure_error **err);

/**
 * Becomes the writer of the existing file `path`, waiting for a former one up
 * to `timeout_ms`. A writer that died is replaced once its soft limit and a
 * guard time have passed; what it left unfinished is recovered first, and every
 * byte it was told is acked stays.
 *
 * Returns `TENURE_OK`; `TENURE_NOT_FOUND`; `TENURE_LEASE_HELD` if another
 * writer is active (the error tells who, and when to retry);
 * `TENURE_TIMED_OUT`. Blocks up to `timeout_ms`; any thread. The caller frees
 * `*file`.
 */
tenure_status tenure_file_append(tenure_client *client,
                                 const char *path,
                                 tenure_file **file,
                                 int64_t timeout_ms,
                                 tenure_error **err);

/**
 * Copies `len` bytes into the file's window, waiting up to `timeout_ms` for
 * room; they are sent in the background. Up to a window (37 MiB by default) all
 * of them are taken or none; of more, `*accepted` says how many, and it is
 * written on failure too. It may be NULL.
 *
 * Returns `TENURE_OK`; `TENURE_TIMED_OUT` if there was no room in time: go on
 * after the accepted bytes; `TENURE_FENCED` or `TENURE_LEASE_LOST` if the
 * writer is over: `tenure_file_acked` tells how far it got; `TENURE_CLOSED`
 * after a close or abort. Blocks only while the window is full; any thread.
 */
tenure_status tenure_file_write(tenure_file *file,
                                const uint8_t *bytes,
                                size_t len,
                                size_t *accepted,
                                int64_t timeout_ms,
                                tenure_error **err);

/**
 * Copies `len` bytes into the file's window if all of them fit now.
 *
 * Returns `TENURE_OK`; `TENURE_WOULD_BLOCK` if not, and then nothing was taken;
 * else as `tenure_file_write`. Never blocks; any thread.
 */
tenure_status tenure_file_try_write(tenure_file *file,
                                    const uint8_t *bytes,
                                    size_t len,
                                    tenure_error **err);

/**
 * Writes `n` pieces as if they were one: no other thread's write comes between
 * them. They are gathered before the copy into the window, so it pays for many
 * small pieces. `n` may be 0.
 *
 * Returns, blocks and fills `*accepted` as `tenure_file_write`, counting over
 * all pieces. Any thread.
 */
tenure_status tenure_file_writev(tenure_file *file,
                                 const tenure_slice *slices,
                                 size_t n,
                                 size_t *accepted,
                                 int64_t timeout_ms,
                                 tenure_error **err);

/**
 * Waits until every byte written before this call is acked: stored, and visible
 * to new readers.
 *
 * Returns `TENURE_OK`; `TENURE_TIMED_OUT` if some are still on their way:
 * nothing is undone, call again; `TENURE_FENCED` or `TENURE_LEASE_LOST` if the
 * writer is over: `tenure_file_acked` tells how far it got. Blocks up to
 * `timeout_ms`; any thread.
 */
tenure_status tenure_file_hflush(tenure_file *file,
                                 int64_t timeout_ms,
                                 tenure_error **err);

/**
 * As `tenure_file_hflush`, and what is acked also survives a power failure of
 * the store, as far as the store promises that. An object store makes no
 * difference between the two; `file://` flushes to disk.
 *
 * Returns and blocks as `tenure_file_hflush`. Any thread.
 */
tenure_status tenure_file_hsync(tenure_file *file,
                                int64_t timeout_ms,
                                tenure_error **err);

/**
 * The file's length including bytes that are not acked yet. 0 if there is no
 * such file. Never blocks; any thread.
 */
uint64_t tenure_file_position(const tenure_file *file);

/**
 * The length up to which every byte is acked: stored, and kept whatever happens
 * to this writer. Goes on answering after the writer is over. 0 if there is no
 * such file. Never blocks; any thread.
 */
uint64_t tenure_file_acked(const tenure_file *file);

/**
 * The epoch this writer writes under. 0 if there is no such file. Never blocks;
 * any thread.
 */
uint64_t tenure_file_epoch(const tenure_file *file);

/**
 * Flushes and finalises the file, and gives its lease up, so that the next
 * writer need not wait. The handle stays valid and is still to be freed.
 * Idempotent.
 *
 * Returns `TENURE_OK`; `TENURE_TIMED_OUT` if it is not done yet: call again;
 * the error that ended the writer, if one did. Blocks up to `timeout_ms`; any
 * thread.
 */
tenure_status tenure_file_close(tenure_file *file,
                                int64_t timeout_ms,
                                tenure_error **err);

/**
 * Stops at once: nothing further is sent, the lease is released in the
 * background, and the file stays open for the next writer with every acked
 * byte. Idempotent. Returns `TENURE_OK`. Never blocks; any thread.
 */
tenure_status tenure_file_abort(tenure_file *file,
                                tenure_error **err);

/**
 * Frees the handle; a file that was not closed is aborted. NULL is fine. Never
 * blocks.
 */
void tenure_file_free(tenure_file *file);


/* -------------------------------------------------------------------------- */
/* Files by path, without writing or reading them                             */
/* -------------------------------------------------------------------------- */

/**
 * Reads what the manifest of the file `path` says. Starts no session and needs
 * read permission only.
 *
 * Returns `TENURE_OK`; `TENURE_NOT_FOUND`. Blocks for the requests; any thread.
 * The caller frees `*info`.
 */
tenure_status tenure_file_stat(tenure_client *client,
                               const char *path,
                               tenure_file_info **info,
                               tenure_error **err);

/**
 * Whether the file `path` is closed: finished by its writer, or recovered and
 * finished after it died.
 *
 * Returns `TENURE_OK`; `TENURE_NOT_FOUND`. Blocks for the requests; any thread.
 */
tenure_status tenure_file_is_closed(tenure_client *client,
                                    const char *path,
                                    bool *is_closed,
                                    tenure_error **err);

/**
 * Lists all files whose path begins with `prefix`, in path order; all of them
 * for the empty prefix.
 *
 * Returns `TENURE_OK`, also if there are none. Blocks for the requests; any
 * thread. The caller frees `*listing`.
 */
tenure_status tenure_file_list(tenure_client *client,
                               const char *prefix,
                               tenure_file_listing **listing,
                               tenure_error **err);

/** How many files were listed. Never blocks; any thread. */
size_t tenure_file_listing_count(const tenure_file_listing *listing);

/**
 * The file at `index`, from 0. Returns `TENURE_OK`; `TENURE_NOT_FOUND` past the
 * end. Never blocks; any thread. The caller frees `*info`, which is independent
 * of the listing.
 */
tenure_status tenure_file_listing_at(const tenure_file_listing *listing,
                                     size_t index,
                                     tenure_file_info **info,
                                     tenure_error **err);

/** Frees a listing. NULL is fine. Never blocks. */
void tenure_file_listing_free(tenure_file_listing *listing);

/**
 * The file's path. Never NULL. Borrowed from `info`. Never blocks; any thread.
 */
const char *tenure_file_info_path(const tenure_file_info *info);

/**
 * The finalised length; an open file may be longer, see
 * `tenure_reader_visible_length`. Never blocks; any thread.
 */
uint64_t tenure_file_info_length(const tenure_file_info *info);

/** Whether the file is closed. Never blocks; any thread. */
bool tenure_file_info_is_closed(const tenure_file_info *info);

/** The epoch of the file's last writer. Never blocks; any thread. */
uint64_t tenure_file_info_epoch(const tenure_file_info *info);

/**
 * Which life of its path the file is, from 1: an overwritten or deleted file
 * begins another. Never blocks; any thread.
 */
uint64_t tenure_file_info_incarnation(const tenure_file_info *info);

/** Frees what was told about a file. NULL is fine. Never blocks. */
void tenure_file_info_free(tenure_file_info *info);


/* -------------------------------------------------------------------------- */
/* Readers: reading a file, also while it is written                          */
/* -------------------------------------------------------------------------- */

/**
 * Opens the file `path` for reading, as it is now.
 *
 * Returns `TENURE_OK`; `TENURE_NOT_FOUND`. Blocks for the requests; any thread.
 * The caller frees `*reader`.
 */
tenure_status tenure_reader_open(tenure_client *client,
                                 const char *path,
                                 tenure_reader **reader,
                                 tenure_error **err);

/**
 * Reads up to `len` bytes from `offset` into `buf` and tells in `*n` how many:
 * fewer only at the visible end, 0 at or beyond it. Every byte was verified
 * against its checksum.
 *
 * Returns `TENURE_OK`; `TENURE_TIMED_OUT` if the store did not answer in time;
 * `TENURE_CORRUPT` with the damaged object's name. On failure `buf` is as it
 * was. Blocks up to `timeout_ms` (a read cannot be polled: 0 mostly times out);
 * any thread.
 */
tenure_status tenure_reader_read_at(tenure_reader *reader,
                                    uint64_t offset,
                                    uint8_t *buf,
                                    size_t len,
                                    size_t *n,
                                    int64_t timeout_ms,
                                    tenure_error **err);

/**
 * The length that was visible at the last look (open, refresh or wait). 0 if
 * there is no such reader. Never blocks; any thread.
 */
uint64_t tenure_reader_visible_length(const tenure_reader *reader);

/**
 * Whether the file was closed at the last look: then its visible length is
 * final. Never blocks; any thread.
 */
bool tenure_reader_is_closed(const tenure_reader *reader);

/**
 * Looks again and tells the visible length, which never shrinks. `visible` may
 * be NULL.
 *
 * Returns `TENURE_OK`; `TENURE_TIMED_OUT` if the store did not answer in time.
 * Blocks up to `timeout_ms`; any thread.
 */
tenure_status tenure_reader_refresh(tenure_reader *reader,
                                    uint64_t *visible,
                                    int64_t timeout_ms,
                                    tenure_error **err);

/**
 * Follows the file: waits until at least `length` bytes are visible or the file
 * is closed, and tells the visible length; less than `length` means closed.
 * `visible` may be NULL.
 *
 * Returns `TENURE_OK`; `TENURE_TIMED_OUT` if neither came in time: call again.
 * Blocks up to `timeout_ms`; any thread.
 */
tenure_status tenure_reader_wait(tenure_reader *reader,
                                 uint64_t length,
                                 uint64_t *visible,
                                 int64_t timeout_ms,
                                 tenure_error **err);

/** Frees the handle. NULL is fine. Never blocks. */
void tenure_reader_free(tenure_reader *reader);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_H */
