#pragma once
#include <sys/types.h>
typedef uint32_t sigset_t;
struct __siginfo;
union __sigaction_u {
  void (*__sa_handler)(int);
  void (*__sa_sigaction)(int, struct __siginfo *, void *);
};
struct sigaction {
  union __sigaction_u __sigaction_u;
  sigset_t sa_mask;
  int sa_flags;
};
#define sa_handler __sigaction_u.__sa_handler
#define SIG_IGN ((void (*)(int))1)
#define SIGURG 16
int sigaddset(sigset_t *, int);
int sigemptyset(sigset_t *);
