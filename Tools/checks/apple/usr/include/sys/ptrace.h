#pragma once
#include <TargetConditionals.h>
#include <sys/types.h>
#if !TARGET_OS_OSX
#error "only the SDK of macOS has this header"
#endif
#define PT_DENY_ATTACH 31
int ptrace(int, pid_t, caddr_t, int);
