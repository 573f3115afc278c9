"""Describes hone's public C interface to cffi, from the headers themselves.

The headers go through the C preprocessor; of what comes out, the lines that stem
from include/hone are the declarations. The library is linked statically: from
build/release when that is up to date, else from a build made here.
"""

import os
import pathlib
import re
import subprocess
import sysconfig

import cffi

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INCLUDE = ROOT / "include"


def declarations():
    """C declarations of include/hone/hone.h that cffi can read."""
    compiler = os.environ.get("CC") or "cc"
    text = subprocess.run([compiler, "-E", f"-I{INCLUDE}", str(INCLUDE / "hone" / "hone.h")],
                          check=True, capture_output=True, text=True).stdout
    kept, ours = [], False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = str(INCLUDE / "hone") in marker.group(1)
        elif ours:
            kept.append(line)
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)\)?(?=[\s;])", "", "\n".join(kept))
    # cffi takes no bodies and knows no va_list.
    text = re.sub(r"static\s+inline\b[^{;]*\{[^{}]*\}", "", text)
    return re.sub(r"[^;{}]*\bva_list\b[^;]*;", "", text)


def newest(paths):
    return max((p.stat().st_mtime for p in paths), default=0)


def library():
    """The static library, built now unless build/release has it up to date."""
    ready = ROOT / "build" / "release" / "libhone.a"
    sources = [*ROOT.glob("src/**/*.c"), *ROOT.glob("src/**/*.h"), *INCLUDE.glob("**/*.h")]
    if ready.exists() and ready.stat().st_mtime >= newest(sources):
        return ready
    folder = ROOT / "build" / "python"
    subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja",
                    "-DCMAKE_BUILD_TYPE=Release", "-DHONE_TESTS=OFF"], check=True)
    subprocess.run(["cmake", "--build", str(folder), "--target", "hone_static"], check=True)
    return folder / "libhone.a"


def link_flags():
    names = ["jansson", "sqlite3", "libzstd", "libxxhash", "zlib"]
    flags = []
    for name in names:
        found = subprocess.run(["pkg-config", "--libs", name], capture_output=True, text=True)
        flags += found.stdout.split() if found.returncode == 0 else []
    return ["-Wl,--as-needed", *flags, "-lm", "-lpthread", "-ldl"]


ffi = cffi.FFI()
ffi.cdef(declarations())
ffi.cdef('extern "Python" void hone_python_release(void* owner);')
ffi.cdef('extern "Python" void hone_python_dump(void* self, const char* kind, const char* name, '
         'const char* text);')
ffi.cdef('extern "Python" bool hone_python_tuning(void* self, '
         'const hone_tuning_progress_t* progress);')
LIBRARY = str(library())
ffi.set_source(
    "hone._native",
    "#include <hone/hone.h>",
    include_dirs=[str(INCLUDE)],
    extra_objects=[LIBRARY],
    depends=[LIBRARY],  # else a build folder that was kept would link the last one
    extra_link_args=link_flags(),
    extra_compile_args=[] if "clang" in (sysconfig.get_config_var("CC") or "") else ["-O2"],
)

if __name__ == "__main__":
    print(declarations())
