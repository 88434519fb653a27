/* SPDX-License-Identifier: MIT */
/* A list gives its items in the order in which they were pushed. */
#include "base/list.h"
#include "base/rng.h"
#include "check.h"

struct item {
	int number;
	struct sfs_link link;
};

static int pop_number(struct sfs_link *head)
{
	struct sfs_link *link = sfs_list_pop(head);

	return link ? sfs_container(link, struct item, link)->number : -1;
}

static void push_and_pop(void)
{
	struct item items[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
	struct sfs_link head;
	int seen = 0;

	sfs_list_init(&head);
	CHECK(sfs_list_is_empty(&head));
	CHECK(sfs_list_pop(&head) == NULL);
	SFS_EACH (it, &head, struct item, link)
		seen++;
	CHECK_EQ(seen, 0);

	for (int i = 0; i < 3; i++) {
		CHECK(!sfs_link_is_in(&items[i].link));
		sfs_list_push(&head, &items[i].link);
		CHECK(sfs_link_is_in(&items[i].link));
	}
	SFS_EACH (it, &head, struct item, link)
		CHECK_EQ(it->number, seen++);
	CHECK_EQ(seen, 3);

	sfs_link_remove(&items[1].link);
	CHECK(!sfs_link_is_in(&items[1].link));
	sfs_link_remove(&items[1].link); /* is in none */
	CHECK_EQ(pop_number(&head), 0);
	CHECK(!sfs_link_is_in(&items[0].link));
	CHECK_EQ(pop_number(&head), 2);
	CHECK_EQ(pop_number(&head), -1);
	CHECK(sfs_list_is_empty(&head));
}

static void move(void)
{
	struct item items[4] = {{.number = 0},
				{.number = 1},
				{.number = 2},
				{.number = 3}};
	struct sfs_link a, b;

	sfs_list_init(&a);
	sfs_list_init(&b);
	sfs_list_move(&a, &b);
	CHECK(sfs_list_is_empty(&a));
	for (int i = 0; i < 4; i++)
		sfs_list_push(i < 2 ? &a : &b, &items[i].link);
	sfs_list_move(&a, &b);
	CHECK(sfs_list_is_empty(&b));
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pop_number(&a), i);
	CHECK(sfs_list_is_empty(&a));
}

/* Against an array. */
static void random_operations(void)
{
	struct item items[20] = {{0}};
	struct sfs_link head;
	struct sfs_rng r = {1};
	int model[20], n = 0, i, k, at;

	sfs_list_init(&head);
	for (i = 0; i < 20; i++)
		items[i].number = i;
	for (int round = 0; round < 20000; round++) {
		k = (int)sfs_rng_below(&r, 20);
		for (at = 0; at < n && model[at] != k; at++)
			;
		CHECK_EQ(sfs_link_is_in(&items[k].link), at < n);
		if (at == n) {
			sfs_list_push(&head, &items[k].link);
			model[n++] = k;
		} else {
			if (round % 2) {
				at = 0;
				CHECK_EQ(pop_number(&head), model[0]);
			} else {
				sfs_link_remove(&items[k].link);
			}
			memmove(model + at, model + at + 1,
				sizeof *model * (size_t)(--n - at));
		}
		i = 0;
		SFS_EACH (it, &head, struct item, link)
			CHECK_EQ(it->number, model[i++]);
		CHECK_EQ(i, n);
	}
}

int main(void)
{
	push_and_pop();
	move();
	random_operations();
	return 0;
}
