/*
 * check.h - assertions about our own code, on in every build, and the attributes we use.
 *
 * Thread: any. CHECK is for what only a bug of ours can break; what a client, an operator or a file
 * can break is a status (status.h).
 */
#ifndef RUNTIME_BASE_CHECK_H
#define RUNTIME_BASE_CHECK_H

/* Prints where and what to stderr and aborts. */
_Noreturn void check_failed(const char *file, int line, const char *what);

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

#endif
