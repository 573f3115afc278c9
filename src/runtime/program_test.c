/* Programs: graphs compiled for the CPU give what `ref` gives, whatever their
 * control flow and wherever their sizes come from. */
#include "runtime/program.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "backends/ref/testing/same_results.h"
#include "base/float_convert.h"
#include "base/random.h"
#include "base/tensor_impl.h"
#include "base/testing/fault.h"
#include "passes/testing/random_graph.h"
#include "runtime/compile.h"

enum { MOST_TENSORS = 32 };

/* A compiled graph, and the same graph for `ref`. */
typedef struct fixture {
  hone_graph_t *graph, *plain;
  const hone_backend_t *cpu, *ref;
  hone_device_t* device;
  hone_program_t *program, *reference;
} fixture_t;

static void compile_pair(fixture_t* f, hone_graph_t* graph, hone_graph_t* plain, int threads) {
  *f = (fixture_t){.graph = graph,
                   .plain = plain,
                   .cpu = hone_backend_find("cpu"),
                   .ref = hone_backend_find("ref")};
  const hone_open_options_t open = {
      .struct_size = sizeof open, .allocator = hone_allocator_system(), .threads = threads};
  assert_ok(f->cpu->open(0, &open, &f->device));
  const hone_compile_settings_t settings = {.spends_constants = true};
  assert_ok(hone_compile(graph, f->cpu, f->device, &settings, NULL, &f->program));
  const hone_compile_options_t options = {.struct_size = sizeof options,
                                          .allocator = hone_allocator_system()};
  assert_ok(f->ref->compile(plain, &options, &f->reference));
}

static void compile_text(fixture_t* f, const char* symbols, const char* lines) {
  compile_pair(f, hone_graph_of_text(symbols, lines), hone_graph_of_text(symbols, lines), 2);
}

static void drop(fixture_t* f) {
  hone_program_destroy(f->program);
  f->ref->destroy(f->reference);
  f->cpu->close(f->device);
  hone_graph_destroy(f->graph);
  hone_graph_destroy(f->plain);
}

static void release(int count, hone_tensor_t** tensors) {
  for (int i = 0; i < count; i++) hone_tensor_release(tensors[i]);
}

/* ---- tensors ---- */

static hone_tensor_t* numbers(hone_dtype_t dtype, int rank, const int64_t* dims, uint64_t seed) {
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, dtype, rank, dims, &tensor));
  for (int64_t i = 0; i < tensor->count; i++) {
    uint32_t word = hone_random_u32(seed, (uint64_t)i);
    bool is_float = hone_dtype_is_float(dtype);
    double value = is_float ? word / 1073741824.0 - 2 : word % (dtype == HONE_BOOL ? 2 : 4);
    hone_from_double(dtype, value, true, (char*)tensor->data + (size_t)i * hone_dtype_size(dtype));
  }
  return tensor;
}

static hone_tensor_t* scalar(hone_dtype_t dtype, double value) {
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, dtype, 0, NULL, &tensor));
  hone_from_double(dtype, value, true, tensor->data);
  return tensor;
}

static void assert_close(const hone_tensor_t* a, const hone_tensor_t* b) {
  assert_int_equal(a->dtype, b->dtype);
  assert_int_equal(a->rank, b->rank);
  for (int i = 0; i < a->rank; i++) assert_int_equal(a->dims[i], b->dims[i]);
  size_t size = hone_dtype_size(a->dtype);
  for (int64_t i = 0; i < a->count; i++) {
    double x = hone_to_double(a->dtype, (const char*)a->data + (size_t)i * size);
    double y = hone_to_double(b->dtype, (const char*)b->data + (size_t)i * size);
    if (isnan(x) && isnan(y)) continue;
    if (x != y) assert_true(fabs(x - y) <= 1e-4 * fmax(1, fabs(y)));
  }
}

static const hone_run_options_t plain_run = {.struct_size = sizeof plain_run, .seed = 7};

/* Runs both on the inputs, which it releases, and compares; the statuses must
 * have one code, which it gives. */
static hone_code_t run_both(const fixture_t* f, int n_inputs, hone_tensor_t** inputs) {
  hone_tensor_t *got[MOST_TENSORS], *want[MOST_TENSORS];
  int n = f->plain->n_outputs;
  assert_true(n <= MOST_TENSORS);
  hone_status_t mine = hone_program_run(f->program, &plain_run, n_inputs, inputs, n, got);
  hone_status_t theirs = f->ref->run(f->reference, &plain_run, n_inputs, inputs, n, want);
  hone_code_t code = hone_status_code(mine);
  if (code != hone_status_code(theirs))
    print_error("%s | %s\n", hone_status_message(mine), hone_status_message(theirs));
  assert_int_equal(code, hone_status_code(theirs));
  hone_status_free(mine);
  hone_status_free(theirs);
  for (int i = 0; i < n && !code; i++) assert_close(got[i], want[i]);
  release(n, got);
  release(n, want);
  release(n_inputs, inputs);
  return code;
}

/* ---- one graph, many sizes ---- */

static int count_steps(const hone_program_t* program, hone_step_kind_t kind) {
  int count = 0;
  for (int r = 0; r < program->n_routines; r++)
    for (int i = 0; i < program->routines[r]->n_steps; i++)
      count += program->routines[r]->steps[i].kind == kind;
  return count;
}

static const char symbols_km[] =
    "symbol \"k\" input 0 2147483647\nsymbol \"m\" input 0 2147483647\n";

static const char layered[] =
    "  %0 \"x\" <1 dim 1, 0 dim 0> = input : f32[k, m]\n"
    "  %1 = constant {3} : f32[1, 1]\n"
    "  %2 = expand %1 shape=[k, m] : f32[k, m]\n"
    "  %3 = mul %0 %2 : f32[k, m] @ \"triple (Mul)\"\n"
    "  %4 = contract %3 %0 dtype=f32 axes=[1, 1] batch=0 : f32[k, k] @ \"square (MatMul)\"\n"
    "  %5 = reshape %4 shape=[(k*k)] : f32[(k*k)] @ \"flat (Reshape)\"\n"
    "  %6 = exp %3 : f32[k, m] @ \"e (Exp)\"\n"
    "  %7 = reduce %6 combine=add axes=[1] : f32[k] @ \"sum (ReduceSum)\"\n"
    "  return %5 \"flat\" %7 \"sum\" %0 \"same\"\n";

static void one_program_serves_many_sizes(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f, symbols_km, layered);
  for (int64_t i = 0; i < 30; i++) { /* more sizes than are kept, some again */
    int64_t dims[] = {i % 11, 1 + i % 5};
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, dims, (uint64_t)i)};
    assert_int_equal(run_both(&f, 1, inputs), HONE_OK);
  }
  drop(&f);
}

/* Where the large output of a run is; the caller's to release. */
static hone_tensor_t* large_output(const fixture_t* f, uint64_t seed) {
  const int64_t dims[] = {200, 3};
  hone_tensor_t *input = numbers(HONE_F32, 2, dims, seed), *got[3];
  assert_ok(hone_program_run(f->program, &plain_run, 1, &input, 3, got));
  hone_tensor_release(input);
  release(2, got + 1);
  return got[0];
}

static void large_outputs_serve_again_once_they_are_released(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f, symbols_km, layered);
  hone_tensor_t* held = large_output(&f, 1);
  const void* place = held->data;
  hone_tensor_release(held);
  held = large_output(&f, 2);
  assert_ptr_equal(held->data, place);
  const float before = *(const float*)held->data;
  hone_tensor_t* next = large_output(&f, 3);
  assert_ptr_not_equal(next->data, place);
  assert_true(*(const float*)held->data == before && *(const float*)next->data != before);
  hone_tensor_release(held);
  held = large_output(&f, 4); /* who holds on to the last one gives it back a run later */
  assert_ptr_equal(held->data, place);
  hone_tensor_release(next);
  hone_tensor_release(held);
  drop(&f);
}

/* ---- control flow ---- */

static const char rounds[] =
    "  %0 \"x\" <1 dim 1, 0 dim 0> = input : f32[k, m]\n"
    "  %1 \"n\" = input : i64[]\n"
    "  %2 \"a0\" <1 dim 0> = input : f32[m]\n"
    "  %3 = constant {1} : bool[]\n"
    "  %4 \"a\" %5 \"s\" <2 dim 0> = loop %1 %3 %2 %0 carried=1 : f32[m], f32[_2, m] "
    "@ \"rounds (Loop)\"\n"
    "    region \"body\" {\n"
    "      %0 = input : i64[]\n"
    "      %1 \"c2\" = input : bool[]\n"
    "      %2 = input : f32[m]\n"
    "      %3 \"x\" = input : f32[k, m]\n"
    "      %4 \"g\" = gather %3 %0 : f32[m] @ \"pick (Gather)\"\n"
    "      %5 \"acc2\" = add %2 %4 : f32[m] @ \"acc2 (Add)\"\n"
    "      %6 \"sq\" = mul %5 %5 : f32[m] @ \"sq (Mul)\"\n"
    "      return %1 %5 %6\n"
    "    }\n"
    "  %6 = exp %4 : f32[m] @ \"after (Exp)\"\n"
    "  %7 = add %5 %5 : f32[_2, m] @ \"late (Add)\"\n"
    "  return %6 \"e\" %5 \"s\" %7 \"late\"\n";

static const char symbols_rounds[] =
    "symbol \"k\" input 0 2147483647\nsymbol \"m\" input 0 2147483647\n"
    "symbol \"_2\" result 0 2147483647\n";

static hone_code_t run_rounds(const fixture_t* f, int64_t k, int64_t m, double n) {
  hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, (int64_t[]){k, m}, 1), scalar(HONE_I64, n),
                             numbers(HONE_F32, 1, (int64_t[]){m}, 2)};
  return run_both(f, 3, inputs);
}

static void loops_carry_and_stack(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f, symbols_rounds, rounds);
  assert_int_equal(run_rounds(&f, 30, 4, 25), HONE_OK);
  assert_int_equal(run_rounds(&f, 3, 7, 3), HONE_OK);
  assert_int_equal(run_rounds(&f, 3, 7, 0), HONE_OK);
  assert_int_equal(run_rounds(&f, 600, 2, 600), HONE_OK);
  assert_int_equal(run_rounds(&f, 600, 2, 300), HONE_OK);
  drop(&f);
}

/* The inner loop begins its stack anew in each round of the outer one, which doubles what it
 * carries: at the start of a round its sizes are still those of the round before. */
static const char doubling[] =
    "  %0 \"a0\" <0 dim 0> = input : f32[k]\n"
    "  %1 \"n\" = input : i64[]\n"
    "  %2 = constant {1} : bool[]\n"
    "  %3 \"a\" <1 dim 0> %4 \"s\" <2 dim 0> = loop %1 %2 %0 %1 carried=1 : f32[_2], f32[_3] "
    "@ \"outer (Loop)\"\n"
    "    region \"outer\" {\n"
    "      %0 = input : i64[]\n"
    "      %1 = input : bool[]\n"
    "      %2 <3 dim 0> = input : f32[_4]\n"
    "      %3 = input : i64[]\n"
    "      %4 %5 <4 dim 0> = loop %3 %1 %2 carried=1 : f32[_4], f32[_5, _4] @ \"inner (Loop)\"\n"
    "        region \"inner\" {\n"
    "          %0 = input : i64[]\n"
    "          %1 = input : bool[]\n"
    "          %2 <5 dim 0> = input : f32[_6]\n"
    "          %3 = tanh %2 : f32[_6]\n"
    "          %4 = mul %3 %3 : f32[_6]\n"
    "          return %1 %3 %4\n"
    "        }\n"
    "      %6 = reduce %5 combine=add axes=[0, 1] : f32[]\n"
    "      %7 = concat %4 %2 axes=[0] : f32[(_4+_4)]\n"
    "      return %1 %7 %6\n"
    "    }\n"
    "  return %3 \"a\" %4 \"s\"\n";

static void stacks_take_the_shape_of_the_first_round(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f,
               "symbol \"k\" input 0 2147483647\nsymbol \"_2\" result 0 2147483647\n"
               "symbol \"_3\" result 0 2147483647\nsymbol \"_4\" result 0 2147483647\n"
               "symbol \"_5\" result 0 2147483647\nsymbol \"_6\" result 0 2147483647\n",
               doubling);
  for (int64_t k = 1; k < 40; k += 7) {
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 1, &k, 3), scalar(HONE_I64, (double)(k % 5))};
    assert_int_equal(run_both(&f, 2, inputs), HONE_OK);
  }
  drop(&f);
}

/* A recurrent layer: of what it carries one half stays; weights fill a vector's lanes. */
static const char recurrent[] =
    "  %%0 \"x\" <0 dim 0> = input : f32[k, 16]\n"
    "  %%1 \"a0\" = input : f32[1, 16]\n"
    "  %%2 \"b0\" = input : f32[1, 16]\n"
    "  %%3 = dims shape=[k] : i64[1]\n"
    "  %%4 = reshape %%3 shape=[] : i64[]\n"
    "  %%5 = constant {1} : bool[]\n"
    "  %%6 \"a\" %%7 \"b\" %%8 \"y\" = loop %%4 %%5 %%1 %%2 %%0 carried=2 : "
    "f32[1, 16], f32[1, 16], f32[k, 1, 16] @ \"layer (RNN)\"\n"
    "    region \"steps\" {\n"
    "      %%0 = input : i64[]\n"
    "      %%1 = input : bool[]\n"
    "      %%2 = input : f32[1, 16]\n"
    "      %%3 = input : f32[1, 16]\n"
    "      %%4 = input : f32[k, 16]\n"
    "      %%5 = constant {%s} : f32[16, 16]\n"
    "      %%6 = gather %%4 %%0 : f32[16]\n"
    "      %%7 = reshape %%6 shape=[1, 16] : f32[1, 16]\n"
    "      %%8 = contract %%2 %%5 dtype=f32 axes=[1, 1] batch=0 : f32[1, 16]\n"
    "      %%9 = add %%8 %%7 : f32[1, 16]\n"
    "      %%10 = tanh %%9 : f32[1, 16]\n"
    "      %%11 = reduce %%10 combine=add axes=[1] : f32[1]\n"
    "      %%12 = reshape %%11 shape=[1, 1] : f32[1, 1]\n"
    "      %%13 = expand %%12 shape=[1, 16] : f32[1, 16]\n"
    "      %%14 = add %%13 %%3 : f32[1, 16]\n"
    "      return %%1 %%14 %%3 %%10\n"
    "    }\n"
    "  %%9 = add %%8 %%8 : f32[k, 1, 16]\n"
    "  return %%6 \"a\" %%7 \"b\" %%9 \"y\"\n";

static void small_loops_are_one_kernel(void** state) {
  (void)state;
  fixture_t f;
  char weights[4096] = "0.5", text[8192];
  for (int i = 1; i < 256; i++) snprintf(weights + strlen(weights), 16, ", %d.25", (i * 7) % 5 - 2);
  snprintf(text, sizeof text, recurrent, weights);
  compile_text(&f, symbols_km, text);
  assert_int_equal(f.program->n_routines, 1);
  for (int64_t k = 0; k < 9; k++) {
    const int64_t state_dims[] = {1, 16};
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, (int64_t[]){k, 16}, 1),
                               numbers(HONE_F32, 2, state_dims, 2),
                               numbers(HONE_F32, 2, state_dims, 3)};
    assert_int_equal(run_both(&f, 3, inputs), HONE_OK);
  }
  drop(&f);
}

/* What is carried is stacked too, for as many rounds as a condition says that is computed. */
static const char walk_and_tell[] =
    "  %0 \"next\" = input : i64[1000]\n"
    "  %1 \"at\" = input : i64[]\n"
    "  %2 = constant {1000} : i64[]\n"
    "  %3 = constant {1} : bool[]\n"
    "  %4 \"end\" %5 \"way\" <0 dim 0> = loop %2 %3 %1 %0 carried=1 : i64[], i64[_2] "
    "@ \"walk (Loop)\"\n"
    "    region \"steps\" {\n"
    "      %0 = input : i64[]\n"
    "      %1 = input : bool[]\n"
    "      %2 = input : i64[]\n"
    "      %3 = input : i64[1000]\n"
    "      %4 = gather %3 %2 : i64[] @ \"look (Gather)\"\n"
    "      %5 = constant {5} : i64[]\n"
    "      %6 = lt %5 %4 : bool[] @ \"go on (Less)\"\n"
    "      return %6 %4 %4\n"
    "    }\n"
    "  return %4 \"end\" %5 \"way\"\n";

static void stacks_grow_while_kernels_write_into_them(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f, "symbol \"_2\" result 0 2147483647\n", walk_and_tell);
  assert_int_equal(count_steps(f.program, HONE_STEP_LOOP), 1);
  for (int64_t from = 5; from < 1000; from += 199) {
    const int64_t count = 1000;
    hone_tensor_t* inputs[2] = {NULL, scalar(HONE_I64, (double)from)};
    assert_ok(hone_tensor_create(NULL, HONE_I64, 1, &count, &inputs[0]));
    int64_t* next = hone_tensor_data(inputs[0]);
    for (int64_t i = 0; i < count; i++) next[i] = i ? i - 1 : 0;
    assert_int_equal(run_both(&f, 2, inputs), HONE_OK);
  }
  drop(&f);
}

/* Each round looks the next index up. */
static const char walk[] =
    "  %0 \"next\" = input : i64[4]\n"
    "  %1 \"at\" = input : i64[3]\n"
    "  %2 = constant {5} : i64[]\n"
    "  %3 = constant {1} : bool[]\n"
    "  %4 \"end\" = loop %2 %3 %1 %0 carried=1 : i64[3] @ \"walk (Loop)\"\n"
    "    region \"steps\" {\n"
    "      %0 = input : i64[]\n"
    "      %1 = input : bool[]\n"
    "      %2 = input : i64[3]\n"
    "      %3 = input : i64[4]\n"
    "      %4 = gather %3 %2 : i64[3] @ \"look (Gather)\"\n"
    "      return %1 %4\n"
    "    }\n"
    "  return %4 \"end\"\n";

static hone_code_t run_walk(const fixture_t* f, int64_t last, hone_status_t* out_status) {
  const int64_t next[] = {1, 2, 3, last}, at[] = {0, 1, 3}, counts[] = {4, 3};
  hone_tensor_t* inputs[2];
  for (int i = 0; i < 2; i++) {
    assert_ok(hone_tensor_create(NULL, HONE_I64, 1, &counts[i], &inputs[i]));
    memcpy(hone_tensor_data(inputs[i]), i ? at : next, (size_t)counts[i] * sizeof(int64_t));
  }
  hone_tensor_t* output;
  *out_status = hone_program_run(f->program, &plain_run, 2, inputs, 1, &output);
  hone_tensor_release(output);
  return run_both(f, 2, inputs);
}

static void checks_of_small_loops_name_their_node(void** state) {
  (void)state;
  fixture_t f;
  hone_status_t status;
  compile_text(&f, "", walk);
  assert_int_equal(f.program->n_routines, 1);
  assert_int_equal(run_walk(&f, 0, &status), HONE_OK);
  assert_int_equal(run_walk(&f, 4, &status), HONE_OUT_OF_RANGE);
  assert_non_null(strstr(hone_status_message(status), "Gather"));
  hone_status_free(status);
  drop(&f);
}

static void a_failed_check_names_the_node_and_is_forgotten(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f, symbols_rounds, rounds);
  assert_int_equal(run_rounds(&f, 3, 4, 5), HONE_OUT_OF_RANGE);
  hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, (int64_t[]){3, 4}, 1), scalar(HONE_I64, 5),
                             numbers(HONE_F32, 1, (int64_t[]){4}, 2)};
  hone_tensor_t* outputs[3];
  hone_status_t status = hone_program_run(f.program, &plain_run, 3, inputs, 3, outputs);
  assert_non_null(strstr(hone_status_message(status), "pick (Gather)"));
  hone_status_free(status);
  release(3, inputs);
  assert_null(outputs[0]);
  assert_int_equal(run_rounds(&f, 3, 4, 3), HONE_OK);
  drop(&f);
}

static const char branches[] =
    "  %0 \"x\" <1 dim 1, 0 dim 0> = input : f32[k, m]\n"
    "  %1 \"c\" = input : bool[]\n"
    "  %2 = add %0 %0 : f32[k, m]\n"
    "  %3 \"y\" = if %1 %2 %2 : f32[k, m] @ \"branch (If)\"\n"
    "    region \"t\" {\n"
    "      %0 = input : f32[k, m]\n"
    "      %1 = exp %0 : f32[k, m] @ \"t (Exp)\"\n"
    "      return %1\n"
    "    }\n"
    "    region \"e\" {\n"
    "      %0 = input : f32[k, m]\n" /* straight through: planned memory of the caller */
    "      return %0\n"
    "    }\n"
    "  %4 = mul %2 %2 : f32[k, m]\n"
    "  %5 = mul %4 %4 : f32[k, m]\n"
    "  %6 = mul %5 %4 : f32[k, m]\n"
    "  return %3 \"y\" %6 \"z\"\n";

static void branches_are_taken(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f, symbols_km, branches);
  for (int taken = 0; taken < 2; taken++) {
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, (int64_t[]){5, 9}, 3),
                               scalar(HONE_BOOL, taken)};
    assert_int_equal(run_both(&f, 2, inputs), HONE_OK);
  }
  drop(&f);
}

/* ---- what no kernel does ---- */

static const char mixed[] =
    "  %0 \"x\" <1 dim 1, 0 dim 0> = input : f32[k, m]\n"
    "  %1 = neg %0 : f32[k, m]\n"
    "  %2 %3 = sort %1 axes=[1] shape=[m] : f32[k, m], i64[k, m] @ \"top (TopK)\"\n"
    "  %4 = add %2 %1 : f32[k, m]\n"
    "  %5 = random dtype=f32 seed=3 shape=[k, m] unseeded : f32[k, m] @ \"noise (Random)\"\n"
    "  %6 = mul %4 %5 : f32[k, m]\n"
    "  return %6 \"y\" %3 \"i\"\n";

static void interpreted_steps_mix_with_kernels(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f, symbols_km, mixed);
  for (int64_t k = 0; k < 3; k++) {
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, (int64_t[]){2 * k, 6}, (uint64_t)k)};
    assert_int_equal(run_both(&f, 1, inputs), HONE_OK);
  }
  drop(&f);
}

/* Looked for among words, twice: only the last kernel sees numbers. */
static const char words[] =
    "  %0 \"x\" = input : string[2, 2]\n"
    "  %1 = constant {\"a\", \"b\", \"c\"} : string[1, 3]\n"
    "  %2 = slice %0 lo=[0, 0] hi=[2, 1] step=[1, 1] : string[2, 1]\n"
    "  %3 = expand %2 shape=[2, 3] : string[2, 3]\n"
    "  %4 = expand %1 shape=[2, 3] : string[2, 3]\n"
    "  %5 = eq %3 %4 : bool[2, 3] @ \"first (Equal)\"\n"
    "  %6 = slice %0 lo=[0, 1] hi=[2, 2] step=[1, 1] : string[2, 1]\n"
    "  %7 = expand %6 shape=[2, 3] : string[2, 3]\n"
    "  %8 = eq %7 %4 : bool[2, 3] @ \"second (Equal)\"\n"
    "  %9 = cast %5 dtype=f32 : f32[2, 3]\n"
    "  %10 = cast %8 dtype=f32 : f32[2, 3]\n"
    "  %11 = concat %9 %10 axes=[1] : f32[2, 6]\n"
    "  return %11 \"hot\" %2 \"column\"\n";

static void what_works_on_strings_is_one_step(void** state) {
  (void)state;
  static const char* const given[] = {"a", "c", "none", "b"};
  fixture_t f;
  compile_text(&f, "", words);
  assert_int_equal(hone_program_interpreted(f.program), 1);
  hone_tensor_t* input;
  assert_ok(hone_tensor_create(NULL, HONE_STRING, 2, (int64_t[]){2, 2}, &input));
  for (int i = 0; i < 4; i++)
    assert_ok(hone_tensor_set_string(input, i, given[i], strlen(given[i])));
  hone_tensor_t* inputs[] = {input};
  assert_int_equal(run_both(&f, 1, inputs), HONE_OK);
  drop(&f);
}

static const char late_sizes[] =
    "  %0 \"x\" <1 dim 1, 0 dim 0> = input : f32[k, m]\n"
    "  %1 \"n\" <2 element 0> = input : i64[1]\n"
    "  %2 = reduce %1 combine=add axes=[0] : i64[]\n"
    "  %3 <3 element 0> = add %2 %2 : i64[]\n"
    "  %4 = iota dtype=i64 axes=[0] shape=[_3] : i64[_3]\n"
    "  %5 = mul %4 %4 : i64[_3] @ \"squares (Mul)\"\n"
    "  %6 = reduce %5 combine=add axes=[0] : i64[]\n"
    "  return %5 \"squares\" %6 \"sum\"\n";

static void sizes_may_come_late(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f,
               "symbol \"k\" input 0 2147483647\nsymbol \"m\" input 0 2147483647\n"
               "symbol \"_2\" element 0 100\nsymbol \"_3\" element 0 200\n",
               late_sizes);
  for (int64_t n = 0; n < 4; n++) {
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, (int64_t[]){1, 1}, 1),
                               numbers(HONE_I64, 1, (int64_t[]){1}, (uint64_t)n)};
    assert_int_equal(run_both(&f, 2, inputs), HONE_OK);
  }
  drop(&f);
}

static const char named_by_a_view[] =
    "  %0 \"x\" <1 dim 1, 0 dim 0> = input : f32[k, m]\n"
    "  %1 = neg %0 : f32[k, m]\n"
    "  %2 \"flat\" <2 dim 0> = reshape %1 shape=[(k*m)] : f32[_2] @ \"flat (Reshape)\"\n"
    "  %3 = exp %2 : f32[_2] @ \"grown (Exp)\"\n"
    "  return %2 \"flat\" %3 \"grown\"\n";

/* The pass `names` computes the extent in front of the window, whose kernel takes it. */
static void extents_are_computed_without_ref(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f, "symbol \"n\" input 0 100\nsymbol \"rows\" result 0 100\n",
               "  %0 \"x\" <0 dim 0> = input : f32[n, 4]\n"
               "  %1 <1 dim 0> = window %0 axes=[0] shape=[3] hi=[1] step=[1] : f32[rows, 4, 3]\n"
               "  %2 = neg %1 : f32[rows, 4, 3]\n"
               "  return %2 \"y\"\n");
  assert_int_equal(hone_program_interpreted(f.program), 0);
  assert_int_equal(f.program->n_kernels, 1);
  for (int64_t n = 1; n < 5; n++) {
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, (int64_t[]){n, 4}, (uint64_t)n)};
    assert_int_equal(run_both(&f, 1, inputs), HONE_OK);
  }
  drop(&f);
}

static void views_may_name_their_extents(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f,
               "symbol \"k\" input 0 1000\nsymbol \"m\" input 0 1000\n"
               "symbol \"_2\" result 0 1000000\n",
               named_by_a_view);
  for (int64_t k = 0; k < 3; k++) {
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, (int64_t[]){k, 6}, (uint64_t)k)};
    assert_int_equal(run_both(&f, 1, inputs), HONE_OK);
  }
  drop(&f);
}

/* Of %1 one shape is an output and one is read by a kernel; %5 is an output in two shapes, and %0
 * comes from the caller. */
static const char seen_as_others[] =
    "  %0 \"x\" <1 dim 1, 0 dim 0> = input : f32[k, m]\n"
    "  %1 = contract %0 %0 dtype=f32 axes=[1, 1] batch=0 : f32[k, k]\n"
    "  %2 \"flat\" = reshape %1 shape=[(k*k)] : f32[(k*k)]\n"
    "  %3 = reshape %1 shape=[1, k, k] : f32[1, k, k]\n"
    "  %4 = reduce %3 combine=add axes=[1] : f32[1, k]\n"
    "  %5 = contract %4 %4 dtype=f32 axes=[0, 0] batch=0 : f32[k, k]\n"
    "  %6 = reshape %5 shape=[k, 1, k] : f32[k, 1, k]\n"
    "  %7 = reshape %0 shape=[(k*m)] : f32[(k*m)]\n"
    "  return %2 \"flat\" %5 \"square\" %6 \"deep\" %7 \"line\"\n";

static void views_that_kernels_alone_read_are_no_steps(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f, symbols_km, seen_as_others);
  assert_int_equal(count_steps(f.program, HONE_STEP_VIEW), 2); /* of %5 and of %0 */
  for (int64_t k = 0; k < 4; k++) {
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, (int64_t[]){k, 3}, (uint64_t)k)};
    assert_int_equal(run_both(&f, 1, inputs), HONE_OK);
  }
  drop(&f);
}

/* Two extents that ought to be equal, and are not, or only once one is 1. */
static void sizes_at_odds_are_noticed(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f, symbols_km,
               "  %0 \"x\" <1 dim 1, 0 dim 0> = input : f32[k, m]\n"
               "  %1 = neg %0 : f32[k, m]\n"
               "  %2 = reshape %1 shape=[m, m] : f32[m, m] @ \"square (Reshape)\"\n"
               "  %3 = permute %2 axes=[1, 0] : f32[m, m]\n"
               "  %4 = exp %3 : f32[m, m]\n"
               "  return %4 \"y\"\n");
  for (int64_t k = 2; k < 5; k++) {
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, (int64_t[]){k, 3}, 5)};
    assert_int_equal(run_both(&f, 1, inputs), k == 3 ? HONE_OK : HONE_INVALID_ARGUMENT);
  }
  drop(&f);
}

enum { WEIGHT_ROWS = 24, WEIGHT_COLUMNS = 64 };

/* A product of x, whose type is given, by weights that are laid out anew, and what returns it. */
static void compile_product(fixture_t* f, const char* symbols, const char* x, const char* rows,
                            const char* end) {
  enum { ROOM = 16 * WEIGHT_ROWS * WEIGHT_COLUMNS };
  static char lines[ROOM];
  int at = snprintf(lines, ROOM, "  %%0 \"x\" %s\n  %%1 = constant {", x);
  for (int i = 0; i < WEIGHT_ROWS * WEIGHT_COLUMNS; i++)
    at += snprintf(lines + at, ROOM - (size_t)at, "%s%d", i ? ", " : "", i % 7);
  snprintf(lines + at, ROOM - (size_t)at,
           "} : f32[%d, %d]\n"
           "  %%2 = contract %%0 %%1 dtype=f32 axes=[1, 0] batch=0 : f32[%s, %d] @ \"p (MatMul)\"\n"
           "  return %%2 \"y\" %s\n",
           WEIGHT_ROWS, WEIGHT_COLUMNS, rows, WEIGHT_COLUMNS, end);
  compile_text(f, symbols, lines);
}

static int count_packed(const hone_program_t* program) {
  int n = 0;
  for (int i = 0; i < program->n_weights; i++)
    n += hone_tensor_rank(program->weights[i].tensor) == 1;
  return n;
}

/* A kernel whose weight is laid out anew, and a guard that may have `ref` run the step. */
static void guarded_kernels_keep_both_weights(void** state) {
  (void)state;
  fixture_t f;
  compile_product(&f, symbols_km, "<1 dim 1, 0 dim 0> = input : f32[k, m]", "k", "");
  assert_int_equal(f.program->n_weights, 2);
  assert_int_equal(count_packed(f.program), 1);
  for (int64_t m = WEIGHT_ROWS - 1; m <= WEIGHT_ROWS; m++) {
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, (int64_t[]){9, m}, 5)};
    assert_int_equal(run_both(&f, 1, inputs), m == WEIGHT_ROWS ? HONE_OK : HONE_INVALID_ARGUMENT);
  }
  drop(&f);
}

static int count_constants(const hone_graph_t* graph) {
  int n = 0;
  for (int i = 0; i < graph->n_nodes; i++) n += graph->nodes[i]->constant != NULL;
  return n;
}

/* Weights that are only read as laid out anew are there once, also before the graph goes; those
 * that somebody reads as they are stay. */
static void packed_weights_are_there_once(void** state) {
  (void)state;
  for (int is_returned = 0; is_returned < 2; is_returned++) {
    fixture_t f;
    compile_product(&f, "", "= input : f32[9, 24]", "9", is_returned ? "%1 \"w\"" : "");
    assert_int_equal(f.program->n_weights, 1 + is_returned);
    assert_int_equal(count_packed(f.program), 1);
    assert_int_equal(count_constants(f.graph), is_returned);
    assert_int_equal(f.graph->n_constants, is_returned);
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, (int64_t[]){9, WEIGHT_ROWS}, 5)};
    assert_int_equal(run_both(&f, 1, inputs), HONE_OK);
    drop(&f);
  }
}

static void open_extents_may_be_one(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f, symbols_km,
               "  %0 \"x\" <1 dim 1, 0 dim 0> = input : f32[k, m]\n"
               "  %1 = neg %0 : f32[k, m]\n"
               "  %2 = expand %1 shape=[4, m] : f32[4, m] @ \"wide (Expand)\"\n"
               "  %3 = exp %2 : f32[4, m]\n"
               "  %4 = reduce %3 combine=add axes=[1] : f32[4]\n"
               "  return %4 \"y\"\n");
  for (int64_t k = 1; k < 5; k += 3) {
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, (int64_t[]){k, 3}, 5)};
    assert_int_equal(run_both(&f, 1, inputs), HONE_OK);
  }
  drop(&f);
}

/* The first row for all rows, as models spell it that are to take none as well. */
static void an_extent_of_at_most_one_repeats(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f, symbols_km,
               "  %0 \"x\" <1 dim 1, 0 dim 0> = input : f32[k, m]\n"
               "  %1 = slice %0 lo=[0, 0] hi=[min(k, 1), m] step=[1, 1] : f32[min(k, 1), m]\n"
               "  %2 = expand %1 shape=[k, m] : f32[k, m] @ \"wide (Expand)\"\n"
               "  %3 = sub %0 %2 : f32[k, m]\n"
               "  return %3 \"y\"\n");
  for (int64_t k = 0; k < 5; k++) {
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, (int64_t[]){k, 3}, 5)};
    assert_int_equal(run_both(&f, 1, inputs), HONE_OK);
    hone_program_memory_t memory;
    assert_ok(hone_program_memory(f.program, (int64_t[]){k, 3}, &memory));
    assert_int_equal(memory.has_late, k == 0); /* then `ref` runs the step */
  }
  drop(&f);
}

/* ---- memory ---- */

static void the_plan_says_what_a_run_takes(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f, symbols_km,
               "  %0 \"x\" <1 dim 1, 0 dim 0> = input : f32[k, m]\n"
               "  %1 %2 = sort %0 axes=[1] shape=[m] : f32[k, m], i64[k, m]\n"
               "  %3 = reduce %1 combine=add axes=[0] : f32[m]\n"
               "  %4 %5 = sort %3 axes=[0] shape=[m] : f32[m], i64[m]\n"
               "  %6 = reduce %4 combine=max axes=[0] : f32[]\n"
               "  return %6 \"y\"\n");
  hone_program_memory_t memory;
  assert_ok(hone_program_memory(f.program, (int64_t[]){100, 50}, &memory));
  assert_int_equal(memory.inputs, 100 * 50 * 4);
  assert_int_equal(memory.outputs, 4);
  assert_int_equal(memory.planned, 256); /* 50 sums */
  /* What the first sort makes, 50 numbers, their places, and two lists of both in one; the output
   * comes later. */
  assert_int_equal(memory.heap, 100 * 50 * (4 + 8) + 50 * (4 + 8 + 2 * 8) - 4);
  assert_false(memory.has_late);
  hone_str_t text;
  hone_str_init(&text, NULL);
  assert_ok(hone_program_print_plan(f.program, (int64_t[]){100, 50}, &text));
  assert_non_null(strstr(hone_str_text(&text), "planned 0.00 MB"));
  hone_str_free(&text);
  drop(&f);
}

/* ---- what compiling shows ---- */

static void note_kind(void* self, const char* kind, const char* name, const char* text) {
  static const char* const kinds[] = {"ir", "kernels", "source", "plan"};
  int* seen = self;
  for (int i = 0; i < 4; i++)
    if (strcmp(kind, kinds[i]) == 0 && name[0] && text[0]) *seen |= 1 << i;
}

static void every_stage_can_be_seen(void** state) {
  (void)state;
  hone_graph_t* graph = hone_graph_of_text(symbols_km, layered);
  const hone_backend_t* cpu = hone_backend_find("cpu");
  const hone_open_options_t open = {
      .struct_size = sizeof open, .allocator = hone_allocator_system(), .threads = 1};
  hone_device_t* device;
  assert_ok(cpu->open(0, &open, &device));
  int seen = 0;
  const hone_compile_settings_t settings = {.dump = note_kind, .dump_self = &seen};
  hone_compile_report_t report;
  hone_program_t* program;
  assert_ok(hone_compile(graph, cpu, device, &settings, &report, &program));
  assert_int_equal(seen, 15);
  assert_true(report.n_kernels > 0 && report.n_calls >= report.n_kernels);
  assert_string_equal(report.phases[0].name, "passes");
  hone_program_destroy(program);
  cpu->close(device);
  hone_graph_destroy(graph);
}

/* ---- threads ---- */

typedef struct caller {
  const fixture_t* f;
  int64_t first;
  bool ok;
} caller_t;

static void* call_often(void* argument) {
  caller_t* c = argument;
  c->ok = true;
  for (int64_t i = 0; i < 12 && c->ok; i++) {
    int64_t dims[] = {1 + (c->first + i) % 9, 4};
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, dims, (uint64_t)i)};
    hone_tensor_t *got[3], *want[3];
    hone_status_t mine = hone_program_run(c->f->program, &plain_run, 1, inputs, 3, got);
    hone_status_t theirs = c->f->ref->run(c->f->reference, &plain_run, 1, inputs, 3, want);
    c->ok = !mine && !theirs;
    for (int k = 0; c->ok && k < 3; k++)
      for (int64_t e = 0; e < got[k]->count; e++)
        if (fabsf(((float*)got[k]->data)[e] - ((float*)want[k]->data)[e]) > 1e-3f) c->ok = false;
    if (!mine) release(3, got);
    if (!theirs) release(3, want);
    release(1, inputs);
    hone_status_free(mine);
    hone_status_free(theirs);
  }
  return NULL;
}

static void many_threads_run_one_program(void** state) {
  (void)state;
  enum { CALLERS = 6 };
  fixture_t f;
  compile_text(&f, symbols_km, layered);
  pthread_t threads[CALLERS];
  caller_t callers[CALLERS];
  for (int i = 0; i < CALLERS; i++) {
    callers[i] = (caller_t){&f, i, false};
    assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
  }
  for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < CALLERS; i++) assert_true(callers[i].ok);
  drop(&f);
}

/* ---- random graphs, and memory that runs out ---- */

static hone_tensor_t* random_input(const hone_value_t* value, uint64_t seed) {
  int64_t dims[HONE_MAX_RANK], symbols[256];
  for (int i = 0; i < 256; i++) symbols[i] = 3;
  for (int i = 0; i < value->type.rank; i++) dims[i] = hone_dim_eval(value->type.dims[i], symbols);
  return numbers(value->type.dtype, value->type.rank, dims, seed);
}

typedef struct places {
  int count;
  hone_program_placed_t list[512];
} places_t;

static void note_place(void* self, const hone_program_placed_t* placed) {
  places_t* places = self;
  assert_true(places->count < 512);
  if (placed->is_planned) places->list[places->count++] = *placed;
}

/* Bytes are shared over time only, or by one that is written in place of another
 * that is read for the last time. */
static bool may_share(const hone_program_placed_t* a, const hone_program_placed_t* b) {
  if (a->routine != b->routine) return true;
  if (a->offset >= b->offset + b->bytes || b->offset >= a->offset + a->bytes) return true;
  if (a->first > b->last || b->first > a->last) return true;
  return (a->in_place_of == b->value && a->first == b->last) ||
         (b->in_place_of == a->value && b->first == a->last);
}

static void check_places(const hone_program_t* program) {
  int64_t symbols[256];
  for (int64_t size = 1; size < 40; size += 13) {
    places_t places = {0};
    for (int i = 0; i < 256; i++) symbols[i] = size;
    assert_ok(hone_program_visit_values(program, symbols, note_place, &places));
    for (int i = 0; i < places.count; i++)
      for (int k = 0; k < i; k++) assert_true(may_share(&places.list[i], &places.list[k]));
  }
}

static void random_graphs_give_what_ref_gives(void** state) {
  (void)state;
  for (uint64_t seed = 0; seed < 4; seed++) {
    fixture_t f;
    compile_pair(&f, test_random_graph(seed, 12), test_random_graph(seed, 12), 2);
    hone_tensor_t* inputs[MOST_TENSORS];
    assert_true(f.plain->n_inputs <= MOST_TENSORS);
    for (int i = 0; i < f.plain->n_inputs; i++)
      inputs[i] = random_input(f.plain->inputs[i], seed * 100 + (uint64_t)i);
    run_both(&f, f.plain->n_inputs, inputs);
    check_places(f.program);
    drop(&f);
  }
}

/* What is beside loops that threads share is done however many rounds they have. */
static void borders_are_there_without_anything_inside(void** state) {
  (void)state;
  fixture_t f;
  compile_text(&f, symbols_km,
               "  %0 \"x\" <1 dim 1, 0 dim 0> = input : f32[k, m]\n"
               "  %1 = constant {5} : f32[]\n"
               "  %2 = neg %0 : f32[k, m]\n"
               "  %3 = pad %2 %1 lo=[1, 2] hi=[1, 3] : f32[k + 2, m + 5]\n"
               "  %4 = window %3 axes=[0] shape=[2] hi=[1] step=[1] : f32[k + 1, m + 5, 2]\n"
               "  %5 = reduce %4 combine=max axes=[2] : f32[k + 1, m + 5]\n"
               "  return %3 \"padded\" %5 \"most\"\n");
  for (int64_t i = 0; i < 20; i++) {
    int64_t dims[] = {i % 5 * 7, i % 4 * 9};
    hone_tensor_t* inputs[] = {numbers(HONE_F32, 2, dims, (uint64_t)i)};
    assert_int_equal(run_both(&f, 1, inputs), HONE_OK);
  }
  drop(&f);
}

typedef struct fault_case {
  hone_tensor_t* inputs[3];
  const char *symbols, *lines;
  bool in_compile; /* fail there too, else in runs only */
} fault_case_t;

static hone_status_t compile_and_run(const hone_allocator_t* allocator, void* context) {
  const fault_case_t* c = context;
  hone_gate_t gate;
  hone_gate_init(&gate, c->in_compile ? allocator : hone_allocator_system());
  const hone_backend_t* cpu = hone_backend_find("cpu");
  hone_graph_t* graph = hone_graph_of_text(c->symbols, c->lines);
  const hone_open_options_t open = {
      .struct_size = sizeof open, .allocator = &gate.allocator, .threads = 1};
  const hone_compile_settings_t settings = {.allocator = &gate.allocator};
  hone_device_t* device = NULL;
  hone_program_t* program = NULL;
  hone_status_t status = cpu->open(0, &open, &device);
  if (!status) status = hone_compile(graph, cpu, device, &settings, NULL, &program);
  gate.behind = allocator;
  hone_tensor_t* outputs[3] = {NULL};
  int n_inputs = graph->n_inputs, n_outputs = graph->n_outputs;
  if (!status)
    status = hone_program_run(program, &plain_run, n_inputs, (hone_tensor_t* const*)c->inputs,
                              n_outputs, outputs);
  release(3, outputs);
  hone_program_destroy(program);
  if (device) cpu->close(device);
  hone_graph_destroy(graph);
  return status;
}

static void runs_survive_running_out_of_memory(void** state) {
  (void)state;
  fault_case_t c = {{numbers(HONE_F32, 2, (int64_t[]){4, 3}, 1), scalar(HONE_I64, 2),
                     numbers(HONE_F32, 1, (int64_t[]){3}, 2)},
                    symbols_rounds,
                    rounds,
                    false};
  assert_survives_faults(compile_and_run, &c);
  release(3, c.inputs);
}

static void compiling_survives_running_out_of_memory(void** state) {
  (void)state;
  fault_case_t c = {{numbers(HONE_F32, 2, (int64_t[]){4, 3}, 1)},
                    symbols_km,
                    "  %0 \"x\" <1 dim 1, 0 dim 0> = input : f32[k, m]\n"
                    "  %1 %2 = sort %0 axes=[1] shape=[m] : f32[k, m], i64[k, m]\n"
                    "  %3 = reshape %1 shape=[(k*m)] : f32[(k*m)]\n"
                    "  return %3 \"y\" %2 \"i\"\n",
                    true};
  assert_survives_faults(compile_and_run, &c);
  release(3, c.inputs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_program_serves_many_sizes),
      cmocka_unit_test(large_outputs_serve_again_once_they_are_released),
      cmocka_unit_test(loops_carry_and_stack),
      cmocka_unit_test(stacks_take_the_shape_of_the_first_round),
      cmocka_unit_test(stacks_grow_while_kernels_write_into_them),
      cmocka_unit_test(small_loops_are_one_kernel),
      cmocka_unit_test(checks_of_small_loops_name_their_node),
      cmocka_unit_test(a_failed_check_names_the_node_and_is_forgotten),
      cmocka_unit_test(branches_are_taken),
      cmocka_unit_test(interpreted_steps_mix_with_kernels),
      cmocka_unit_test(what_works_on_strings_is_one_step),
      cmocka_unit_test(sizes_may_come_late),
      cmocka_unit_test(extents_are_computed_without_ref),
      cmocka_unit_test(views_may_name_their_extents),
      cmocka_unit_test(views_that_kernels_alone_read_are_no_steps),
      cmocka_unit_test(sizes_at_odds_are_noticed),
      cmocka_unit_test(guarded_kernels_keep_both_weights),
      cmocka_unit_test(packed_weights_are_there_once),
      cmocka_unit_test(open_extents_may_be_one),
      cmocka_unit_test(an_extent_of_at_most_one_repeats),
      cmocka_unit_test(the_plan_says_what_a_run_takes),
      cmocka_unit_test(every_stage_can_be_seen),
      cmocka_unit_test(many_threads_run_one_program),
      cmocka_unit_test(random_graphs_give_what_ref_gives),
      cmocka_unit_test(borders_are_there_without_anything_inside),
      cmocka_unit_test(runs_survive_running_out_of_memory),
      cmocka_unit_test(compiling_survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
