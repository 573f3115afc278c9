# Toolchain: hone for aarch64, built elsewhere, and run by qemu. HONE_SYSROOT is the
# folder that scripts/sysroot_aarch64 makes:
#   scripts/sysroot_aarch64 build/aarch64/sysroot
#   cmake -B build/aarch64 -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake \
#         -DHONE_SYSROOT=$PWD/build/aarch64/sysroot
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
# Debian's cross compilers look into the headers of the machine itself too: these come first.
set(CMAKE_C_FLAGS_INIT
    "-isystem ${HONE_SYSROOT}/usr/include/aarch64-linux-gnu -isystem ${HONE_SYSROOT}/usr/include")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HONE_SYSROOT)

set(ENV{PKG_CONFIG_LIBDIR}
    ${HONE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${HONE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${HONE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${HONE_SYSROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
