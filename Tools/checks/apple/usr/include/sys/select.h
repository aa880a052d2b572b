#pragma once
#include <sys/types.h>
#define FD_SETSIZE 1024
typedef struct fd_set {
  int32_t fds_bits[FD_SETSIZE / 32];
} fd_set;
struct timeval {
  time_t tv_sec;
  int32_t tv_usec;
};
#define FD_ZERO(set) __builtin_bzero(set, sizeof(*(set)))
#define FD_SET(number, set) ((set)->fds_bits[(unsigned)(number) / 32] |= (int32_t)(1u << ((unsigned)(number) % 32)))
int select(int, fd_set *, fd_set *, fd_set *, struct timeval *);
