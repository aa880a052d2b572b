// What the Darwin module of Apple's SDKs adds to their headers: calls with a variable number of arguments, and macros that
// Swift doesn't import.

@_exported public import Darwin

public var errno: Int32 {
  get { __error().pointee }
  set { __error().pointee = newValue }
}

@_silgen_name("open") private func coffer_open(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t) -> Int32

public func open(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 { coffer_open(path, flags, 0) }
public func open(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t) -> Int32 { coffer_open(path, flags, mode) }

@_silgen_name("openat")
private func coffer_openat(_ folder: Int32, _ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t) -> Int32

public func openat(_ folder: Int32, _ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 {
  coffer_openat(folder, path, flags, 0)
}

@_silgen_name("fcntl") private func coffer_fcntl(_ descriptor: Int32, _ command: Int32, _ value: Int32) -> Int32

public func fcntl(_ descriptor: Int32, _ command: Int32) -> Int32 { coffer_fcntl(descriptor, command, 0) }
public func fcntl(_ descriptor: Int32, _ command: Int32, _ value: Int32) -> Int32 {
  coffer_fcntl(descriptor, command, value)
}

public var S_IFMT: mode_t { 0o170000 }
public var S_IFDIR: mode_t { 0o040000 }
public var S_IFREG: mode_t { 0o100000 }
