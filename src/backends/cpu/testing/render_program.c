#include "backends/cpu/testing/render_program.h"

#include <stdio.h>
#include <unistd.h>

#include "backends/cpu/render.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/testing/fault.h"
#include "codegen/prelude.h"
#include "codegen/process.h"

static const char cross_compiler[] = "/usr/bin/aarch64-linux-gnu-gcc";
static const char emulator[] = "/usr/bin/qemu-aarch64";

bool render_program_has_aarch64(void) {
  if (access(cross_compiler, X_OK) == 0 && access(emulator, X_OK) == 0) return true;
  print_message("not run: the packages gcc-aarch64-linux-gnu and qemu-user are not installed\n");
  return false;
}

static void put_bytes(hone_str_t* out, int number, const hone_tensor_t* tensor) {
  const unsigned char* bytes = hone_tensor_data(tensor);
  hone_str_appendf(out, "static unsigned char t%d[] __attribute__((aligned(64))) = {", number);
  for (size_t i = 0; i < hone_tensor_bytes(tensor); i++) hone_str_appendf(out, "%d,", bytes[i]);
  hone_str_append(out, "};\n");
}

/* arch_prctl: a process has to ask for the state of tiles, each for itself. */
static const char ask_for_tiles[] = "  long syscall(long, ...);\n  syscall(158, 0x1023, 18);\n";

static void put_main(hone_str_t* out, const render_program_t* program) {
  const int last = program->n - 1;
  hone_str_append(out, "int main(int argc, char** argv) {\n");
  if (program->target->has_amx) hone_str_append(out, ask_for_tiles);
  hone_str_append(out, "  void* buffers[] = {");
  for (int i = 0; i < program->n; i++) hone_str_appendf(out, "t%d, ", i);
  hone_str_appendf(out,
                   "};\n  kernel(buffers, 0, 0, %d);\n  FILE* file = fopen(argv[1], \"wb\");\n"
                   "  return !file || fwrite(t%d, sizeof t%d, 1, file) != 1 || fclose(file);\n}\n",
                   program->rounds, last, last);
}

/* A program that writes what the kernel makes of the data to a file. */
static void write_program(const render_program_t* program, const char* path) {
  hone_str_t kernel, text;
  hone_arena_t* arena;
  const char* prelude;
  assert_ok(hone_arena_create(NULL, &arena));
  assert_ok(hone_prelude_make(arena, "cpu.inc", program->lanes, &prelude));
  hone_str_init(&kernel, NULL);
  assert_ok(hone_cpu_render(program->kernel, "kernel", program->lanes, program->target, &kernel));
  hone_str_init(&text, NULL);
  hone_str_appendf(&text, "#include <stdio.h>\n%s\n%s\n%s\n",
                   program->before ? program->before : "", prelude, kernel.data);
  for (int i = 0; i < program->n; i++) put_bytes(&text, i, program->tensors[i]);
  put_main(&text, program);
  assert_false(text.failed);
  assert_ok(hone_file_write(path, text.data, text.size));
  hone_str_free(&kernel);
  hone_str_free(&text);
  hone_arena_destroy(arena);
}

static void must_run(hone_process_t* process) {
  enum { MOST_MS = 120000 };
  assert_ok(hone_process_run(NULL, 1, process, 1, MOST_MS));
  if (!hone_process_ok(process)) print_message("%s\n", process->output);
  assert_true(hone_process_ok(process));
}

static void read_output(const char* path, hone_tensor_t* output) {
  FILE* file = fopen(path, "rbe");
  assert_non_null(file);
  assert_int_equal(fread(hone_tensor_data(output), hone_tensor_bytes(output), 1, file), 1);
  fclose(file);
}

void render_program_run(const render_program_t* program, const test_folder_t* folder) {
  enum { WORDS = 7 };
  char source[PATH_MAX], binary[PATH_MAX], output[PATH_MAX];
  bool is_here = program->runs_here || program->target->runs_here;
  snprintf(source, sizeof source, "%s", test_folder_file(folder, "kernel.c"));
  snprintf(binary, sizeof binary, "%s", test_folder_file(folder, "kernel"));
  snprintf(output, sizeof output, "%s", test_folder_file(folder, "output"));
  write_program(program, source);
  const char* words[WORDS + HONE_TARGET_FLAGS + 1] = {
      is_here ? "/usr/bin/cc" : cross_compiler, "-O2", "-w", "-static", "-o", binary, source};
  for (int i = 0; i < program->target->n_flags; i++) words[WORDS + i] = program->target->flags[i];
  hone_process_t build = {.argv = words};
  must_run(&build);
  const char* const elsewhere[] = {emulator, binary, output, NULL};
  hone_process_t run = {.argv = is_here ? elsewhere + 1 : elsewhere};
  must_run(&run);
  read_output(output, program->tensors[program->n - 1]);
}
