# Set-up shared by demo, install, package and test; sourced by them with the repository as working directory.
# Does: finds the tools and libraries that a build and the checks need, and installs missing ones by apt.
# Knows: the names of Debian's packages. Does not know: the builds and checks themselves.

python=python3
# The folder of release builds. It's another one than `swift build`'s own, so that both can run at the same time.
scratch=.build/programs
# The options of every build in that folder; with others, all would be compiled again. Nothing reads debug information.
release="-c release --static-swift-stdlib -debug-info-format none --scratch-path $scratch"

say() { printf '\n== %s\n' "$*"; }

fail() {
  printf '%s: error: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# Whether the tool or library of a Debian package is present, from any source.
have() {
  case $1 in
    libsqlite3-dev) command -v pkg-config > /dev/null && pkg-config --exists sqlite3 ;;
    libssl-dev) command -v pkg-config > /dev/null && pkg-config --exists libcrypto ;;
    pkg-config | sqlite3 | openssl | curl | python3 | strace | tmux | sqlcipher | mandoc) command -v "$1" > /dev/null ;;
    binutils) command -v objcopy > /dev/null && command -v readelf > /dev/null ;;
    dpkg-dev) command -v dpkg-shlibdeps > /dev/null && command -v dpkg-deb > /dev/null ;;
    debootstrap) [ -x /usr/sbin/debootstrap ] ;;
    gcc) command -v cc > /dev/null ;;
    musl-tools) command -v musl-gcc > /dev/null ;;
    libc-bin) command -v iconv > /dev/null ;;
    iso-codes) [ -d /usr/share/iso-codes/json ] ;;
    python3-cryptography) find_python ;;
    python3-pip) python3 -m pip --version > /dev/null 2>&1 || /usr/bin/python3 -m pip --version > /dev/null 2>&1 ;;
    *) return 1 ;;
  esac
}

# Sets $python to a python3 with `cryptography`: the first on the PATH may lack it while Debian's has it.
find_python() {
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import cryptography' 2> /dev/null; then return 0; fi
  done
  python=python3
  return 1
}

# need PACKAGE...: installs the missing packages.
need() {
  missing=
  for package in "$@"; do
    have "$package" || missing="$missing $package"
  done
  if [ -n "$missing" ]; then
    command -v apt-get > /dev/null || fail "missing, and no apt-get to install it:$missing"
    say "Installing$missing"
    as_root apt-get update -q
    # shellcheck disable=SC2086 # a list of words
    as_root apt-get install -q -y --no-install-recommends $missing
    for package in $missing; do
      have "$package" || fail "$package was installed, but its tool or library is still missing"
    done
  fi
  command -v swift > /dev/null || fail "swift is not on the PATH (Swift 6.1 or newer, see swift.org/install)"
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    command -v sudo > /dev/null || fail "not root, and no sudo, to install:$missing"
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

# Prints the line with the commit of the code that runs, which ends in "+" if the code has changed since.
say_commit() {
  commit=$("$python" -B -c "import sys; sys.path.append('Tools/generators'); import figures; print(figures.commit() or '+')")
  printf 'Commit: %s\n' "$commit"
}

# record RESULT: prints the closing line of a full run, and writes it into Tools/figures.json and the pages.
record() {
  printf '%s\n' "$1"
  case $commit in
    *+) ;;
    *) printf 'Commit: %s\n%s\n' "$commit" "$1" | "$python" Tools/generators/make-figures /dev/stdin ;;
  esac
}

# Builds the dbtool that people use and sets $dbtool to its path. It contains Swift's libraries: it starts in two thirds
# of the time that it takes with shared ones, and needs no toolchain where it runs. Its table of addresses is read-only
# from the start, and no id of the build is in it: two builds have the same bytes, once Tools/install has stripped them.
release_dbtool() {
  dbtool=$PWD/$scratch/release/dbtool
  # shellcheck disable=SC2086 # a list of words
  swift build $release --product dbtool \
    -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now -Xlinker --build-id=none "$@"
}

# Builds the dbtool for any Linux with glibc, and sets $portable to its path: it also contains SQLite, OpenSSL and the
# libraries of C++ and GCC. glibc stays outside, because it loads parts of itself at run time, for names of users, and
# because its license has conditions for programs that contain it. The linker takes a static library where it finds no
# shared one beside it, and pkg-config's files name the folder where it looks first. Only the link differs from
# release_dbtool, which takes seconds; call that function afterwards to have its file again.
portable_dbtool() {
  folder=$PWD/.build/portable
  portable=$folder/dbtool
  rm -rf "$folder"
  mkdir -p "$folder"
  for library in $(static_libraries); do ln -s "$library" "$folder"; done
  # The compiler asks for the shared library by this name. The part of it that programs need is the static libgcc_eh.
  ln -s libgcc_eh.a "$folder/libgcc_s.a"
  for name in sqlite3 libcrypto; do
    sed "s|^libdir=.*|libdir=$folder|" "$(pkg-config --variable=pcfiledir "$name")/$name.pc" > "$folder/$name.pc"
  done
  PKG_CONFIG_PATH=$folder release_dbtool -Xlinker "-L$folder"
  cp "$dbtool" "$portable"
}

# Prints the paths of the static libraries that portable_dbtool links.
static_libraries() {
  printf '%s\n' "$(pkg-config --variable=libdir sqlite3)/libsqlite3.a" "$(pkg-config --variable=libdir libcrypto)/libcrypto.a"
  for name in libstdc++.a libgcc_eh.a; do clang -print-file-name="$name"; done
}
