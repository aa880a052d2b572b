#pragma once
#include <TargetConditionals.h>
#include <stddef.h>
#if !TARGET_OS_OSX
#error "only the SDK of macOS has this header"
#endif
int getentropy(void *, size_t);
