/* The cursor on well-formed and on damaged bytes. */
#include "import/proto_wire.h"

#include <string.h>

#include "base/testing/test.h"

static hone_wire_t wire_of(const char* bytes, size_t size) {
  return hone_wire_over((hone_string_t){bytes, size}, (const uint8_t*)bytes);
}

/* The fields of a literal, whose ending 0 is not part of it. */
#define WIRE(literal) wire_of(literal, sizeof(literal) - 1)

static void varints_come_back(void** state) {
  uint64_t value = 1;
  for (int i = 0; i < 1000; i++, value = value * 2862933555777941757u + 3037000493u) {
    uint64_t narrow = value >> (i % 64), again;
    uint8_t bytes[10];
    size_t size = hone_wire_put_varint(bytes, narrow);
    assert_int_equal(size, hone_wire_varint_size(narrow));
    hone_wire_t wire = wire_of((const char*)bytes, size);
    assert_ok(hone_wire_varint(&wire, &again));
    assert_true(again == narrow && wire.at == wire.end);
    wire = wire_of((const char*)bytes, size - 1);
    assert_code(hone_wire_varint(&wire, &again), HONE_INVALID_MODEL);
  }
}

static void fields_of_each_type(void** state) {
  hone_wire_t wire = WIRE(
      "\x08\x96\x01\x12\x03"
      "abc\x1d\x01\x02\x03\x04\x21\x01\x02\x03\x04\x05\x06\x07\x08");
  hone_wire_field_t field;
  bool more;
  assert_ok(hone_wire_next(&wire, &field, &more));
  assert_true(more && field.number == 1 && field.type == HONE_WIRE_VARINT && field.scalar == 150);
  assert_ok(hone_wire_next(&wire, &field, &more));
  assert_true(field.number == 2 && field.type == HONE_WIRE_BYTES);
  assert_int_equal(field.bytes.size, 3);
  assert_memory_equal(field.bytes.data, "abc", 3);
  assert_ok(hone_wire_next(&wire, &field, &more));
  assert_true(field.number == 3 && field.scalar == 0x04030201);
  assert_ok(hone_wire_next(&wire, &field, &more));
  assert_true(field.number == 4 && field.scalar == 0x0807060504030201);
  assert_ok(hone_wire_next(&wire, &field, &more));
  assert_false(more);
}

static void groups_are_skipped(void** state) {
  hone_wire_t wire = WIRE("\x0b\x10\x01\x13\x1a\x01z\x14\x0c\x28\x07");
  hone_wire_field_t field;
  bool more;
  assert_ok(hone_wire_next(&wire, &field, &more));
  assert_true(more && field.number == 5 && field.scalar == 7);
  wire = WIRE("\x0b\x0c");
  assert_ok(hone_wire_next(&wire, &field, &more));
  assert_false(more);
}

static hone_status_t read_all(hone_wire_t wire) {
  hone_wire_field_t field;
  bool more = true;
  while (more) HONE_TRY(hone_wire_next(&wire, &field, &more));
  return NULL;
}

static void damage_is_named(void** state) {
  static const struct {
    const char* bytes;
    size_t size;
  } damaged[] = {
      {"\x08", 1},                                              /* no value */
      {"\x08\xff", 2},                                          /* a number that goes on */
      {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12}, /* longer than any number */
      {"\x12\x05"
       "abc",
       5},                                                  /* more bytes than there are */
      {"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11}, /* and many more */
      {"\x1d\x01\x02", 3},                                  /* 4 bytes cut */
      {"\x21\x01\x02\x03\x04\x05\x06\x07", 8},              /* 8 bytes cut */
      {"\x00", 1},                                          /* field 0 */
      {"\x0e", 1},                                          /* wire type 6 */
      {"\x0c", 1},                                          /* a group's end alone */
      {"\x0b\x08\x01", 3},                                  /* a group without end */
      {"\x0b\x14", 2},                                      /* with another's end */
  };
  for (size_t i = 0; i < TEST_COUNT(damaged); i++) {
    assert_code(read_all(wire_of(damaged[i].bytes, damaged[i].size)), HONE_INVALID_MODEL);
  }
}

static void deep_groups_are_refused(void** state) {
  char bytes[400];
  memset(bytes, 0x0b, 200);
  memset(bytes + 200, 0x0c, 200);
  assert_code(read_all(wire_of(bytes, 400)), HONE_INVALID_MODEL);
  assert_ok(read_all(wire_of(bytes + 150, 100)));
}

static void packed_lists_are_counted(void** state) {
  int64_t count;
  assert_ok(hone_wire_packed_count(WIRE("\x01\x96\x01\x00"), HONE_WIRE_VARINT, &count));
  assert_int_equal(count, 3);
  assert_ok(hone_wire_packed_count(WIRE("12345678"), HONE_WIRE_FIXED32, &count));
  assert_int_equal(count, 2);
  assert_ok(hone_wire_packed_count(WIRE(""), HONE_WIRE_FIXED64, &count));
  assert_int_equal(count, 0);
  assert_code(hone_wire_packed_count(WIRE("1234567"), HONE_WIRE_FIXED32, &count),
              HONE_INVALID_MODEL);
  assert_code(hone_wire_packed_count(WIRE("\x01\x96"), HONE_WIRE_VARINT, &count),
              HONE_INVALID_MODEL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(varints_come_back),       cmocka_unit_test(fields_of_each_type),
      cmocka_unit_test(groups_are_skipped),      cmocka_unit_test(damage_is_named),
      cmocka_unit_test(deep_groups_are_refused), cmocka_unit_test(packed_lists_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
