/* SPDX-License-Identifier: MIT */
/* An outbox has room for as many batches as were not credited.  It goes on where its
 * receiver wants, also with batches that the receiver has of another process, and has
 * ended when the receiver has said so. */
#include "check.h"
#include "transport/outbox.h"

#include "base/strbuf.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>

static struct shufflefs_layout layout = {.n_samples = 4};
static struct sfs_outbox box;
static struct sfs_error err;

static void open_box(void)
{
	struct sfs_transport_settings settings = {.target = "x://y",
						  .n_slots = 2,
						  .session = 7,
						  .has_crc = true};

	CHECK_EQ(sfs_outbox_open(&box, &settings, &layout, &err), 0);
}

static void *take(void)
{
	void *slot = NULL;

	CHECK_EQ(sfs_outbox_take(&box, 0, &slot, &err), 0);
	return slot;
}

static void put(uint64_t n)
{
	struct sfs_batch_info info = {.n_samples = 4};

	for (; n > 0; n--) {
		memset(take(), (int)n, layout.slot_bytes);
		CHECK_EQ(sfs_outbox_send(&box, &info, &err), 0);
	}
}

static int answer_of(enum sfs_wire_code code, uint64_t session, uint64_t consumed,
		     uint64_t resume)
{
	struct sfs_wire_reply reply = {.code = code,
				       .session = session,
				       .resume = resume,
				       .consumed = consumed,
				       .text = "why"};

	return sfs_outbox_take_reply(&box, &reply, &err);
}

static int answer(enum sfs_wire_code code, uint64_t session, uint64_t resume)
{
	return answer_of(code, session, 0, resume);
}

static struct sfs_outbox_state look(void)
{
	struct sfs_outbox_state state;

	sfs_outbox_look(&box, &state);
	return state;
}

static void credits_make_room(void)
{
	struct pollfd p;
	void *first, *slot;

	open_box();
	p = (struct pollfd){.fd = box.wake_fd, .events = POLLIN};
	CHECK_EQ(poll(&p, 1, 0), 0);
	first = take();
	put(2);
	CHECK_EQ(poll(&p, 1, 0), 1);
	CHECK_EQ(box.crcs[1], sfs_wire_crc(&layout, 4, box.memory + box.stride));
	CHECK_EQ(sfs_outbox_take(&box, 0, &slot, &err), -ETIMEDOUT);
	CHECK_EQ(answer(SFS_WIRE_ACCEPT, 7, 0), 0);
	sfs_outbox_take_credit(&box, 1, false);
	CHECK(take() == first);
	sfs_outbox_take_credit(&box, 0, false);
	CHECK_EQ(look().credited, 1);
	sfs_outbox_stop(&box);
	sfs_outbox_close(&box);
}

static void *take_and_wait(void *arg)
{
	void *slot;

	CHECK_EQ(sfs_outbox_take(&box, -1, &slot, &err), 0);
	return arg;
}

static void a_credit_ends_a_wait(void)
{
	pthread_t thread;

	open_box();
	put(2);
	pthread_create(&thread, NULL, take_and_wait, NULL);
	sfs_outbox_take_credit(&box, 1, false);
	pthread_join(thread, NULL);
	sfs_outbox_close(&box);
}

static void the_receiver_says_where_to_go_on(void)
{
	struct sfs_strbuf text = {.s = NULL};
	struct sfs_json_writer json = {.text = &text};

	open_box();
	put(2);
	CHECK_EQ(answer(SFS_WIRE_BUSY, 7, 2), -EBUSY);
	CHECK_HAS(err.text, "busy: why");
	CHECK_EQ(answer(SFS_WIRE_REFUSE, 7, 2), -ECONNABORTED);
	CHECK_HAS(err.text, "refused: why");
	CHECK_EQ(look().credited, 0); /* (those have changed nothing) */
	CHECK_EQ(answer(SFS_WIRE_ACCEPT, 7, 0), 0);
	sfs_outbox_take_credit(&box, 1, false);
	CHECK_EQ(sfs_outbox_hello(&box).session, 7);
	CHECK_EQ(sfs_outbox_hello(&box).oldest, 1);
	CHECK_EQ(answer(SFS_WIRE_ACCEPT, 7, 2), 0); /* (one credit was lost) */
	CHECK_EQ(look().credited, 1);
	CHECK_EQ(answer(SFS_WIRE_ACCEPT, 7, 0), -ECONNABORTED);
	CHECK_HAS(err.text, "wants batch 0, but this sender has only 1 to 2");
	CHECK_EQ(answer(SFS_WIRE_ACCEPT, 8, 2), -ECONNABORTED);
	CHECK_EQ(answer_of(SFS_WIRE_ACCEPT, 7, 2, 1), -ECONNABORTED);
	CHECK_EQ(look().credited, 1);
	sfs_outbox_describe(&box, &json);
	CHECK_HAS(text.s, "\"sent\":2,\"consumed\":1,\"skipped\":0,\"connections\":2");
	CHECK_EQ(answer_of(SFS_WIRE_ACCEPT, 7, 2, 2), 0); /* (another credit was lost) */
	CHECK_EQ(look().credited, 2);
	sfs_strbuf_done(&text);
	sfs_outbox_close(&box);
}

static void it_ends_when_the_receiver_knows_the_end(void)
{
	open_box();
	CHECK_EQ(answer(SFS_WIRE_ACCEPT, 7, 0), 0);
	put(2);
	sfs_outbox_take_credit(&box, 2, false);
	CHECK(!look().is_finishing);
	CHECK_EQ(sfs_outbox_finish(&box, 0, &err), -ETIMEDOUT);
	CHECK(look().is_finishing);
	sfs_outbox_take_credit(&box, 2, true);
	CHECK_EQ(sfs_outbox_finish(&box, 0, &err), 0);
	sfs_outbox_stop(&box);
	CHECK_STR(look().failure, "");
	CHECK(sfs_outbox_is_stopping(&box));
	sfs_outbox_close(&box);
}

/* The receiver has `n_there` batches of a process that was killed; there are 3. */
static void a_successor_goes_on(uint64_t n_there)
{
	open_box();
	CHECK_EQ(answer_of(SFS_WIRE_ACCEPT, 7, n_there, n_there), 0);
	put(3); /* (without a credit) */
	CHECK_EQ(look().credited, n_there);
	if (n_there > 3) {
		CHECK_EQ(sfs_outbox_finish(&box, 0, &err), -ESTALE);
		CHECK_HAS(err.text, "has 9 batches of this stream, which has only 3 now");
		CHECK(!look().is_finishing); /* (no END goes out) */
	} else {
		CHECK_EQ(sfs_outbox_finish(&box, 0, &err), -ETIMEDOUT);
		CHECK_EQ(answer_of(SFS_WIRE_ACCEPT, 7, n_there, 3), 0); /* (connected again) */
		sfs_outbox_take_credit(&box, 3, true);
		CHECK_EQ(sfs_outbox_finish(&box, 0, &err), 0);
	}
	sfs_outbox_close(&box);
}

/* It has 3, of which trainers have released 1: what is in its memory only is held. */
static void a_successor_holds_what_was_not_released(void)
{
	void *slot;

	open_box();
	CHECK_EQ(answer_of(SFS_WIRE_ACCEPT, 7, 1, 3), 0);
	CHECK_EQ(look().credited, 1);
	CHECK_EQ(sfs_outbox_hello(&box).oldest, 1);
	put(3);
	CHECK_EQ(sfs_outbox_take(&box, 0, &slot, &err), -ETIMEDOUT);
	CHECK_EQ(answer_of(SFS_WIRE_ACCEPT, 7, 1, 1), 0); /* that receiver died, too */
	sfs_outbox_take_credit(&box, 3, false);
	put(1);
	sfs_outbox_close(&box);
}

/* What a process that was killed had sent comes to the receiver when another
 * has connected. */
static void a_predecessors_batches_may_come_late(void)
{
	open_box();
	CHECK_EQ(answer(SFS_WIRE_ACCEPT, 7, 0), 0);
	put(1);
	CHECK_EQ(answer(SFS_WIRE_ACCEPT, 7, 2), 0);
	CHECK_EQ(sfs_outbox_finish(&box, 0, &err), -ESTALE);
	put(1);
	CHECK_EQ(sfs_outbox_finish(&box, 0, &err), -ETIMEDOUT);
	sfs_outbox_close(&box);
}

static void a_failure_is_told_and_answered(void)
{
	struct sfs_error why;
	void *slot;

	open_box();
	put(1);
	sfs_outbox_fail(&box, "its disk is full");
	CHECK_STR(look().failure, "its disk is full");
	CHECK(look().has_failed);
	sfs_outbox_stop(&box);
	CHECK_STR(look().failure, "its disk is full");
	CHECK_EQ(sfs_outbox_wait_told(&box, 0), -ETIMEDOUT);
	sfs_error_set(&why, -EPIPE, "it has ended");
	sfs_outbox_fail_for_good(&box, -EPIPE, &why);
	CHECK_EQ(sfs_outbox_wait_told(&box, -1), -EPIPE);
	CHECK_EQ(sfs_outbox_take(&box, -1, &slot, &err), -EPIPE);
	CHECK_STR(err.text, "x://y: it has ended");
	CHECK_EQ(sfs_outbox_finish(&box, -1, &err), -EPIPE);
	sfs_outbox_close(&box);
}

static void who_leaves_has_not_failed(void)
{
	open_box();
	put(1);
	sfs_outbox_leave(&box, "it was stopped");
	CHECK_STR(look().failure, "it was stopped");
	CHECK(!look().has_failed);
	sfs_outbox_close(&box);
	open_box();
	put(1);
	sfs_outbox_stop(&box);
	CHECK_HAS(look().failure, "closed before the end of its stream");
	CHECK(!look().has_failed);
	sfs_outbox_close(&box);
}

int main(void)
{
	struct sfs_row row = {.name = "a", .dtype = "u1", .rank = 1, .dims = {100}};

	CHECK_EQ(sfs_layout_add(&layout, &row, &err), 0);
	credits_make_room();
	a_credit_ends_a_wait();
	the_receiver_says_where_to_go_on();
	it_ends_when_the_receiver_knows_the_end();
	a_successor_goes_on(2);
	a_successor_goes_on(3);
	a_successor_goes_on(9);
	a_successor_holds_what_was_not_released();
	a_predecessors_batches_may_come_late();
	a_failure_is_told_and_answered();
	who_leaves_has_not_failed();
	return 0;
}
