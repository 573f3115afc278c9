#include "codegen/declarations.h"

#include <string.h>

#include "base/memory.h"

/* ---- tokens ---- */

typedef enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_MARK, TOKEN_DIRECTIVE } token_kind_t;

/* A directive is a whole line; a string or number is a mark. */
typedef struct token {
  token_kind_t kind;
  const char* at;
  size_t size;
} token_t;

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static size_t quoted_size(const char* at) {
  size_t size = 1;
  while (at[size] && at[size] != *at) size += at[size] == '\\' && at[size + 1] ? 2 : 1;
  return size + (at[size] != 0);
}

/* 0x1.8p-3f and the like: a sign belongs to it after an exponent's letter. */
static size_t number_size(const char* at) {
  size_t size = 1;
  for (; is_letter(at[size]) || is_digit(at[size]) || at[size] == '.'; size++)
    if (strchr("pPeE", at[size]) && (at[size + 1] == '+' || at[size + 1] == '-')) size++;
  return size;
}

static token_t next_token(const char* at) {
  while (is_blank(*at)) at++;
  if (!*at) return (token_t){TOKEN_END, at, 0};
  if (*at == '#') return (token_t){TOKEN_DIRECTIVE, at, strcspn(at, "\n")};
  if (*at == '"' || *at == '\'') return (token_t){TOKEN_MARK, at, quoted_size(at)};
  if (is_digit(*at)) return (token_t){TOKEN_MARK, at, number_size(at)};
  if (!is_letter(*at)) return (token_t){TOKEN_MARK, at, 1};
  size_t size = 1;
  while (is_letter(at[size]) || is_digit(at[size])) size++;
  return (token_t){TOKEN_WORD, at, size};
}

static bool token_is(token_t token, const char* text) {
  return token.size == strlen(text) && memcmp(token.at, text, token.size) == 0;
}

/* ---- taking apart ---- */

static hone_status_t add_declaration(hone_declarations_t* list, const char* text, size_t size,
                                     bool is_define) {
  if (list->count == list->capacity) {
    int capacity = list->capacity ? 2 * list->capacity : 256;
    hone_declaration_t* grown = hone_arena_array(list->arena, (size_t)capacity, sizeof *grown);
    if (!grown) return hone_oom();
    if (list->count) memcpy(grown, list->list, (size_t)list->count * sizeof *grown);
    list->list = grown;
    list->capacity = capacity;
  }
  list->list[list->count++] = (hone_declaration_t){text, size, is_define};
  return NULL;
}

/* The last declaration of a name is the one that counts. */
static hone_status_t add_name(hone_declarations_t* list, token_t name) {
  return hone_map_put_n(&list->by_name, name.at, name.size, (void*)(intptr_t)list->count);
}

/* "#define NAME …" and "#undef NAME"; other directives mean nothing here. */
static hone_status_t read_directive(hone_declarations_t* list, token_t line) {
  token_t word = next_token(line.at + 1);
  token_t name = next_token(word.at + word.size);
  if (name.kind != TOKEN_WORD || name.at >= line.at + line.size) return NULL;
  if (token_is(word, "undef")) hone_map_remove_n(&list->by_name, name.at, name.size);
  if (!token_is(word, "define")) return NULL;
  HONE_TRY(add_declaration(list, line.at, line.size, true));
  return add_name(list, name);
}

/* One declaration as far as it was read. */
typedef struct reader {
  int depth;        /* of brackets of all kinds */
  bool is_function; /* its body is open */
  bool is_typedef;
  token_t last;      /* outside all brackets */
  token_t last_word; /* the same, attributes left out */
} reader_t;

static bool is_attribute(token_t token) {
  return token_is(token, "__attribute__") || token_is(token, "__attribute");
}

/* Notes the names that `token` shows to be declared. */
static hone_status_t note_names(hone_declarations_t* list, const reader_t* reader, token_t token) {
  bool opens = token.kind == TOKEN_MARK && *token.at == '(';
  bool ends = token.kind == TOKEN_MARK && strchr(";,=[", *token.at);
  bool named = reader->last_word.size > 0;
  if (reader->depth || !named) return NULL;
  bool called = opens && !reader->is_typedef && reader->last.kind == TOKEN_WORD &&
                !is_attribute(reader->last);
  return called || (ends && (reader->is_typedef || reader->last.kind == TOKEN_WORD))
             ? add_name(list, reader->last_word)
             : NULL;
}

/* Whether the declaration ends with `token`. */
static bool take_token(reader_t* reader, token_t token) {
  char mark = token.kind == TOKEN_MARK ? *token.at : 0;
  bool outside = reader->depth == 0;
  if (mark == '{' && outside) reader->is_function = *reader->last.at == ')';
  if (mark == '(' || mark == '{' || mark == '[') reader->depth++;
  if ((mark == ')' || mark == '}' || mark == ']') && reader->depth) reader->depth--;
  if (reader->depth == 0) {
    if (mark == '}' && reader->is_function) return true;
    if (mark == ';') return true;
    reader->last = token;
    if (token.kind == TOKEN_WORD && !is_attribute(token)) {
      reader->is_typedef = reader->is_typedef || token_is(token, "typedef");
      reader->last_word = token;
    }
  }
  return false;
}

static hone_status_t read_declaration(hone_declarations_t* list, const char** at) {
  reader_t reader = {.last = {TOKEN_MARK, " ", 1}};
  const char* start = next_token(*at).at;
  /* Counted from 1 in the map: the index of this one is noted before it is added. */
  HONE_TRY(add_declaration(list, start, 0, false));
  for (;;) {
    token_t token = next_token(*at);
    *at = token.at + token.size;
    if (token.kind == TOKEN_END) break;
    if (token.kind == TOKEN_DIRECTIVE) continue; /* a pragma inside a function */
    HONE_TRY(note_names(list, &reader, token));
    if (take_token(&reader, token)) break;
  }
  list->list[list->count - 1].size = (size_t)(*at - start);
  return NULL;
}

hone_status_t hone_declarations_read(hone_arena_t* arena, const char* text,
                                     hone_declarations_t* out) {
  *out = (hone_declarations_t){.arena = arena};
  hone_map_init_arena(&out->by_name, arena);
  for (;;) {
    token_t token = next_token(text);
    if (token.kind == TOKEN_END) return NULL;
    if (token.kind == TOKEN_DIRECTIVE) {
      HONE_TRY(read_directive(out, token));
      text = token.at + token.size;
    } else {
      HONE_TRY(read_declaration(out, &text));
    }
  }
}

/* ---- what is needed ---- */

typedef struct need {
  const hone_declarations_t* all;
  bool* needed;
  int* waiting; /* indices whose names are not looked at yet */
  int n_waiting;
} need_t;

/* Marks what the words of a text name. Words of directives count as well. */
static void mark_used(need_t* need, const char* at, const char* end) {
  while (at < end) {
    token_t token = next_token(at);
    if (token.kind == TOKEN_END) return;
    at = token.kind == TOKEN_DIRECTIVE ? token.at + 1 : token.at + token.size;
    if (token.kind != TOKEN_WORD) continue;
    int index = (int)(intptr_t)hone_map_get_n(&need->all->by_name, token.at, token.size) - 1;
    if (index < 0 || need->needed[index]) continue;
    need->needed[index] = true;
    need->waiting[need->n_waiting++] = index;
  }
}

hone_status_t hone_declarations_append(const hone_declarations_t* declarations, const char* user,
                                       hone_str_t* out) {
  size_t count = (size_t)declarations->count;
  need_t need = {.all = declarations};
  need.needed = hone_arena_array(declarations->arena, count, sizeof *need.needed);
  need.waiting = hone_arena_array(declarations->arena, count, sizeof *need.waiting);
  if (!need.needed || !need.waiting) return hone_oom();
  mark_used(&need, user, user + strlen(user));
  while (need.n_waiting) {
    const hone_declaration_t* next = &declarations->list[need.waiting[--need.n_waiting]];
    mark_used(&need, next->text, next->text + next->size);
  }
  for (size_t i = 0; i < count; i++) {
    if (!need.needed[i]) continue;
    hone_str_append_n(out, declarations->list[i].text, declarations->list[i].size);
    hone_str_append_char(out, '\n');
  }
  return out->failed ? hone_oom() : NULL;
}
