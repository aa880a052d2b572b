// Reports the waits inside of Swift's Mutex to the thread sanitizer; loaded before the Swift libraries (LD_PRELOAD).
//
// A thread takes and releases an uncontended Mutex by atomics in its own, instrumented code. If another thread holds
// the Mutex, the kernel wakes the waiting thread, by calls from libswiftSynchronization. That library is not
// instrumented, so the sanitizer misses the order of the two threads and reports races that are none. The two functions
// below replace the library's own, call them, and report the order. Nothing is suppressed: the sanitizer still reports
// every real race.
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
