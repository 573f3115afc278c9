#include "base/cpu_count.h"

#include <sched.h>
#include <string.h>

#include "base/testing/folder.h"

static void version_2_quotas_parse(void** state) {
  (void)state;
  static const struct {
    const char* text;
    double cpus;
  } cases[] = {{"max 100000\n", 0}, {"150000 100000\n", 1.5}, {"50000 100000", 0.5}, {"", 0},
               {"200000", 0},       {"-1 100000", 0},         {"100000 0", 0},       {"x y", 0}};
  for (size_t i = 0; i < TEST_COUNT(cases); i++)
    assert_true(hone_cpu_quota_v2(cases[i].text) == cases[i].cpus);
}

static void version_1_quotas_parse(void** state) {
  (void)state;
  assert_true(hone_cpu_quota_v1("-1\n", "100000\n") == 0);
  assert_true(hone_cpu_quota_v1("250000\n", "100000\n") == 2.5);
  assert_true(hone_cpu_quota_v1("", "") == 0);
  assert_true(hone_cpu_quota_v1("100000", "0") == 0);
}

static void groups_are_found_by_controller(void** state) {
  (void)state;
  static const char text[] =
      "12:cpuset:/set\n4:cpu,cpuacct:/a/b\n3:memory:/mem:with:colons\n0::/two\n";
  char path[32];
  assert_true(hone_cgroup_path(text, "cpu", path, sizeof path));
  assert_string_equal(path, "/a/b");
  assert_true(hone_cgroup_path(text, "cpuacct", path, sizeof path));
  assert_string_equal(path, "/a/b");
  assert_true(hone_cgroup_path(text, "memory", path, sizeof path));
  assert_string_equal(path, "/mem:with:colons");
  assert_true(hone_cgroup_path(text, "", path, sizeof path));
  assert_string_equal(path, "/two");
  assert_false(hone_cgroup_path(text, "cp", path, sizeof path));
  assert_false(hone_cgroup_path(text, "memory", path, 5));
  assert_false(hone_cgroup_path("", "cpu", path, sizeof path));
  assert_false(hone_cgroup_path("no colons at all\n:\n", "cpu", path, sizeof path));
  assert_true(hone_cgroup_path("1:cpu:/no-newline", "cpu", path, sizeof path));
  assert_string_equal(path, "/no-newline");
}

static void the_tightest_level_counts(void** state) {
  (void)state;
  test_folder_t root;
  test_folder_make(&root);
  assert_true(hone_cpu_quota(root.path) == 0);
  test_folder_write(&root, "proc/self/cgroup", "0::/outer/inner\n");
  assert_true(hone_cpu_quota(root.path) == 0);
  test_folder_write(&root, "sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  assert_true(hone_cpu_quota(root.path) == 0);
  test_folder_write(&root, "sys/fs/cgroup/outer/cpu.max", "300000 100000\n");
  assert_true(hone_cpu_quota(root.path) == 3);
  test_folder_write(&root, "sys/fs/cgroup/outer/inner/cpu.max", "150000 100000\n");
  assert_true(hone_cpu_quota(root.path) == 1.5);
  test_folder_write(&root, "sys/fs/cgroup/cpu.max", "25000 100000\n");
  assert_true(hone_cpu_quota(root.path) == 0.25);
  test_folder_remove(&root);
}

/* Inside a container the group's path is not visible: only the mount's own files are. */
static void version_1_is_found_at_the_mount(void** state) {
  (void)state;
  test_folder_t root;
  test_folder_make(&root);
  test_folder_write(&root, "proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n");
  test_folder_write(&root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  assert_true(hone_cpu_quota(root.path) == 0);
  test_folder_write(&root, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  assert_true(hone_cpu_quota(root.path) == 2);
  test_folder_remove(&root);
}

static void the_affinity_mask_counts(void** state) {
  (void)state;
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  assert_int_equal(hone_cpu_count_affinity(), CPU_COUNT(&before));
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(hone_cpu_count_affinity(), 1);
  assert_int_equal(hone_cpu_count(), 1);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  assert_in_range(hone_cpu_count(), 1, hone_cpu_count_affinity());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(version_2_quotas_parse),
      cmocka_unit_test(version_1_quotas_parse),
      cmocka_unit_test(groups_are_found_by_controller),
      cmocka_unit_test(the_tightest_level_counts),
      cmocka_unit_test(version_1_is_found_at_the_mount),
      cmocka_unit_test(the_affinity_mask_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
