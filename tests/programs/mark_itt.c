/* A program with two static copies of the ITT notify library, by declarations of our own: each asks
 * the collector that INTEL_LIBITTNOTIFY64 names to fill its list of functions, creates its own
 * domains, strings and counters, and uses the functions. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "expect.h"
#include "itt_copy.h"

static const struct itt_id kNoId = {0, 0, 0};
static struct copy g_first, g_second;

static void task_symbol(void) {}

static int tasks(struct copy* c, struct domain* domain) {
  struct string* outer = itt_string("outer");
  struct string* inner = itt_string("inner");
  ITT_RUN(c, task_begin, domain, kNoId, kNoId, outer);
  ITT_RUN(c, task_begin_ex, domain, NULL, 5ull, kNoId, kNoId, inner);
  ITT_RUN(c, task_end_ex, domain, NULL, 6ull);
  ITT_RUN(c, task_end, domain);
  ITT_RUN(c, task_begin_fn, domain, kNoId, kNoId, (void*)(uintptr_t)task_symbol);
  ITT_RUN(c, task_end, domain);
  ITT_RUN(c, marker, domain, kNoId, itt_string("moment"), 3);
  return 3; /* ranges; and 1 mark */
}

static void* end_overlapped(void* domain) {
  const struct itt_id id = {1, 2, 3};
  ITT_RUN(&g_second, task_end_overlapped, domain, id);
  return NULL;
}

static int overlapped(struct copy* c, struct domain* domain) {
  const struct itt_id a = {1, 2, 3};
  const struct itt_id b = {1, 2, 4};
  pthread_t thread;
  ITT_RUN(c, task_begin_overlapped, domain, a, kNoId, itt_string("lap a"));
  ITT_RUN(c, task_begin_overlapped, domain, b, kNoId, itt_string("lap b"));
  if (pthread_create(&thread, NULL, end_overlapped, domain) != 0) exit(2);
  pthread_join(thread, NULL);
  ITT_RUN(c, task_end_overlapped, domain, b);
  ITT_RUN(c, task_end_overlapped, domain, b); /* too many */
  ITT_RUN(c, frame_begin_v3, domain, NULL);
  ITT_RUN(c, frame_end_v3, domain, NULL);
  ITT_RUN(c, region_begin, domain, a, kNoId, itt_string("region"));
  ITT_RUN(c, region_end, domain, a);
  return 4;
}

/* Frames that are reported when they are over: one range of 5 ms, and a mark where the start is not
 * known. */
static int frames(struct copy* c, struct domain* domain) {
  const struct timespec pause = {0, 5000000};
  const unsigned long long begin = ITT_CALL(c, get_timestamp, 1);
  nanosleep(&pause, NULL);
  const unsigned long long end = ITT_CALL(c, get_timestamp, 2);
  EXPECT(end > begin);
  ITT_RUN(c, frame_submit_v3, domain, NULL, begin, end);
  ITT_RUN(c, frame_submit_v3, domain, NULL, 0ull, end);
  return 1;
}

static void values(struct copy* c, struct domain* domain) {
  const struct itt_id task = {9, 0, 0};
  struct string* model = itt_string("model");
  struct counter* bytes = itt_counter("bytes", "io", 1);
  struct counter* ratio = itt_counter("ratio", NULL, 8);
  const uint64_t big = 1u << 20;
  const double half = 0.5;
  const int32_t numbers[3] = {-1, 0, 7};
  ITT_RUN(c, counter_inc, bytes);
  ITT_RUN(c, counter_inc_delta, bytes, 9ull);
  ITT_RUN(c, counter_dec, bytes);
  ITT_RUN(c, counter_set_value, bytes, &big);
  ITT_RUN(c, counter_set_value, ratio, &half);
  ITT_RUN(c, counter_inc_delta, ratio, 2ull);
  ITT_RUN(c, counter_inc_delta_v3, domain, itt_string("steps"), 3ull); /* 7 counter values */
  ITT_RUN(c, metadata_str_add, domain, kNoId, model, "resnet50 and more", 8);
  ITT_RUN(c, metadata_str_add, domain, kNoId, model, "vgg", 0);                /* 1 mark */
  ITT_RUN(c, metadata_add, domain, kNoId, itt_string("shape"), 4, 3, numbers); /* 2 metadata */
  ITT_RUN(c, metadata_str_add, domain, task, itt_string("layer"), "conv", 0);  /* 1 mark */
}

static int legacy(struct copy* c) {
  const int event = ITT_CALL(c, event_create, 0, "phase one", 5);
  EXPECT(!c->collected || event > 0);
  EXPECT(ITT_CALL(c, event_create, event, "phase", 5) == event);
  EXPECT(ITT_CALL(c, event_start, 0, event) == 0);
  EXPECT(ITT_CALL(c, event_end, 0, event) == 0);
  void* frame = ITT_CALL(c, frame_create, NULL, "old frame");
  ITT_RUN(c, frame_begin, frame);
  ITT_RUN(c, frame_end, frame);
  const int mark = ITT_CALL(c, mark_create, 0, "checkpoint");
  ITT_RUN(c, mark, mark, "42");
  return 2; /* ranges; and 1 mark */
}

static void control(struct copy* c, struct domain* domain) {
  const struct itt_id id = kNoId;
  ITT_RUN(c, thread_set_name, "itt main");
  ITT_RUN(c, pause);
  ITT_RUN(c, pause);
  ITT_RUN(c, marker, domain, id, itt_string("paused"), 3);
  ITT_RUN(c, resume);
  ITT_RUN(c, resume);
  ITT_RUN(c, marker, domain, id, itt_string("resumed"), 3); /* 1 mark */
}

static struct domain* create(struct copy* c, const char* name) {
  struct domain* domain = ITT_CALL(c, domain_create, NULL, name);
  return domain != NULL ? domain : itt_domain(name);
}

static void handles(struct domain* early) {
  struct domain* first = create(&g_first, "same");
  EXPECT(create(&g_second, "same") == first && create(&g_first, "other") != first);
  EXPECT(strcmp(first->name, "same") == 0 && first->flags == 1);
  EXPECT(create(&g_first, early->name) == early);
  struct string* string = ITT_CALL(&g_first, string_handle_create, NULL, "text");
  EXPECT(string != NULL && strcmp(string->text, "text") == 0);
  struct counter* counter = ITT_CALL(&g_first, counter_create_typed, NULL, "made", "here", 8);
  const double value = 1.5;
  EXPECT(counter != NULL && counter->type == 8);
  ITT_RUN(&g_second, counter_set_value, counter, &value);
}

int main(void) {
  struct domain* domain = itt_domain("app.domain"); /* before any copy is filled */
  copy_collect(&g_first, 0, domain);
  copy_collect(&g_second, 1, NULL);
  const int on = g_first.collected;
  EXPECT(on == (copy_function(&g_first, "domain_create") != g_first.own_create));
  EXPECT(copy_function(&g_first, "sync_create") == NULL);
  EXPECT(copy_function(&g_first, "no_such_function") == NULL);
  struct domain* other = on ? create(&g_second, "lib.domain") : itt_domain("lib.domain");
  errno = 4711;
  if (on) handles(domain);
  int ranges = tasks(&g_first, domain) + tasks(&g_second, other) + overlapped(&g_first, domain);
  values(&g_first, domain);
  ranges += frames(&g_first, domain);
  ranges += legacy(&g_second);
  control(&g_first, domain);
  EXPECT(errno == 4711);
  printf(
      "{\"ranges\":%d,\"marks\":%d,\"counters\":%d,\"metadata\":%d,\"collected\":%d,"
      "\"errors\":%d}\n",
      on ? ranges : 0, on ? 7 : 0, on ? 8 : 0, on ? 2 : 0, on, g_errors);
  return g_errors != 0;
}
