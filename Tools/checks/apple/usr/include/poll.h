#pragma once
#define POLLIN 0x1
#define POLLOUT 0x4
struct pollfd {
  int fd;
  short events, revents;
};
typedef unsigned int nfds_t;
int poll(struct pollfd *, nfds_t, int);
