// Tells the thread sanitizer of the waits inside of Swift's Mutex; loaded before the Swift libraries (LD_PRELOAD).
//
// A Mutex that nobody else holds is taken and let go of by atomics in the caller's own, instrumented code. One that is
// held is waited for, and handed on, by the kernel from within libswiftSynchronization, which is not instrumented: there
// the sanitizer misses that one thread comes after the other, and reports races that are none. These two stand before
// the library's own, do the same, and say so. Nothing is suppressed: every real race is still reported.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

// Weak: programs that are not sanitized, such as swift test itself, have neither.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

// Synchronization._MutexHandle._lockSlow(Swift.UInt32) -> ()
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
// Synchronization._MutexHandle._unlockSlow() -> ()
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef SWIFT void (*LockSlow)(uint32_t, SELF);
typedef SWIFT void (*UnlockSlow)(SELF);

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT void lock_slow(uint32_t thread, SELF) {
  ((LockSlow)dlsym(RTLD_NEXT, LOCK_SLOW))(thread, self);
  if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT void unlock_slow(SELF) __asm__(UNLOCK_SLOW);
SWIFT void unlock_slow(SELF) {
  if (__tsan_release) __tsan_release(self);
  ((UnlockSlow)dlsym(RTLD_NEXT, UNLOCK_SLOW))(self);
}
