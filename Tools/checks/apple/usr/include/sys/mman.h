#pragma once
#include <stddef.h>
int madvise(void *, size_t, int);
