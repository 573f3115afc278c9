#include "machine.h"

#include "base/testing/test.h"

static void names_of_every_kind_of_machine(void** state) {
  (void)state;
  char name[16];
  hone_machine_cpu("processor\t: 0\nmodel\t\t: 143\nmodel name\t: Some CPU\nmodel name\t: Other\n",
                   name, sizeof name);
  assert_string_equal(name, "Some CPU");
  hone_machine_cpu("processor\t: 0\n\nModel\t\t: A board\n", name, sizeof name);
  assert_string_equal(name, "A board");
  hone_machine_cpu("model name : a name that is too long for it", name, sizeof name);
  assert_string_equal(name, "a name that is ");
  hone_machine_cpu("model name", name, sizeof name);
  assert_string_equal(name, "");
  hone_machine_cpu("", name, sizeof name);
  assert_string_equal(name, "");
}

static void this_machine_is_known(void** state) {
  (void)state;
  hone_machine_t machine = hone_machine_find();
  assert_true(machine.cpus > 0);
  assert_true(machine.memory_bytes > 0);
  assert_string_not_equal(machine.system, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_of_every_kind_of_machine),
      cmocka_unit_test(this_machine_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
