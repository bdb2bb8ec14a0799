#include "base/fiber.h"

#include "base/mem.h"

#include <assert.h>
#ifdef __SANITIZE_ADDRESS__
#include <dlfcn.h>
#include <sanitizer/common_interface_defs.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK	(1 << 20)	/* bytes, of which the system gives those that
				   are used */

/*
 *	idle --fiber_call()--> runs --its end--> idle
 *	runs --fiber_wait()--> waits --fiber_go_on()--> runs
 */
struct fiber {
	ucontext_t self, caller;
	char *stack;		/* NULL: none yet; the lowest page is a guard */
	size_t guard;
	void (*work)(void *);
	void *arg;
	bool busy;		/* it runs or waits */
	bool given_up;
	bool (*is_over)(const void *);	/* what it waits for */
	const void *of;
#ifdef __SANITIZE_ADDRESS__
	void *saved;		/* of the sanitizer, while it waits */
	const void *outer;	/* the caller's stack */
	size_t outer_size;
#endif
};

#ifdef __SANITIZE_ADDRESS__

/* The sanitizer's swapcontext() prints a warning, since it is not told which
   stack it comes to.  We tell it, and call that of libc. */
static void
swap(ucontext_t *from, const ucontext_t *to)
{
	static int (*swap_contexts)(ucontext_t *, const ucontext_t *);

	if (!swap_contexts)
		*(void **)&swap_contexts =
			dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD),
			      "swapcontext");
	swap_contexts(from, to);
}

static void
enter(struct fiber *f)
{
	void *saved;

	__sanitizer_start_switch_fiber(&saved, f->stack + f->guard, STACK);
	swap(&f->caller, &f->self);
	__sanitizer_finish_switch_fiber(saved, NULL, NULL);
}

static void
entered(struct fiber *f)
{
	__sanitizer_finish_switch_fiber(f->saved, &f->outer, &f->outer_size);
}

static void
leave(struct fiber *f)
{
	__sanitizer_start_switch_fiber(&f->saved, f->outer, f->outer_size);
	swap(&f->self, &f->caller);
	entered(f);
}

static void
end(struct fiber *f)
{
	__sanitizer_start_switch_fiber(NULL, f->outer, f->outer_size);
	f->saved = NULL;
}

#else

static void
enter(struct fiber *f)
{
	swapcontext(&f->caller, &f->self);
}

static void
leave(struct fiber *f)
{
	swapcontext(&f->self, &f->caller);
}

static void
entered(struct fiber *f)
{
	(void)f;
}

static void
end(struct fiber *f)
{
	(void)f;
}

#endif

/* The one that runs in this thread; NULL: none. */
static _Thread_local struct fiber *running;

struct fiber *
fiber_new(void)
{
	return mem_alloc(1, sizeof(struct fiber));
}

void
fiber_free(struct fiber *f)
{
	if (!f)
		return;
	fiber_give_up(f);
	while (f->busy)
		fiber_go_on(f);
	if (f->stack)
		munmap(f->stack, f->guard + STACK);
	free(f);
}

/* A stack that overflows must not write to other memory. */
static void
make_stack(struct fiber *f)
{
	f->guard = (size_t)sysconf(_SC_PAGESIZE);
	f->stack = mmap(NULL, f->guard + STACK, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (f->stack == MAP_FAILED)
		abort();
	mprotect(f->stack, f->guard, PROT_NONE);
}

/* makecontext() passes numbers only, so the argument is in running. */
static void
begin(void)
{
	struct fiber *f = running;

	entered(f);
	f->work(f->arg);
	f->busy = false;
	end(f);
}

static bool
switch_to(struct fiber *f)
{
	struct fiber *outer = running;

	running = f;
	enter(f);
	running = outer;
	return !f->busy;
}

bool
fiber_call(struct fiber *f, void (*work)(void *), void *arg)
{
	assert(!f->busy);
	if (!f->stack)
		make_stack(f);
	getcontext(&f->self);
	f->self.uc_stack.ss_sp = f->stack + f->guard;
	f->self.uc_stack.ss_size = STACK;
	f->self.uc_link = &f->caller;
	f->work = work;
	f->arg = arg;
	f->busy = true;
	f->given_up = false;
	makecontext(&f->self, begin, 0);
	return switch_to(f);
}

bool
fiber_go_on(struct fiber *f)
{
	assert(f->busy);
	return switch_to(f);
}

bool
fiber_is_busy(const struct fiber *f)
{
	return f->busy;
}

bool
fiber_can_go_on(const struct fiber *f)
{
	return f->busy && f->is_over(f->of);
}

void
fiber_give_up(struct fiber *f)
{
	f->given_up = true;
}

bool
fiber_wait(bool (*is_over)(const void *), const void *of)
{
	struct fiber *f = running;

	if (!f)
		return true;
	f->is_over = is_over;
	f->of = of;
	while (!is_over(of)) {
		if (f->given_up)
			return false;
		leave(f);
	}
	return true;
}

bool
fiber_is_given_up(void)
{
	return running && running->given_up;
}
