#include "dispatch/entry.h"

#include <unordered_map>

#include "dispatch/dispatch.h"

namespace fl {

void finish_schema(Schema& s);

namespace {

struct Table {
  std::vector<OpGroup*> groups;
  std::unordered_map<std::string_view, OpGroup*> by_name;
  std::unordered_map<std::string_view, Entry*> by_id;
  std::vector<std::pair<std::string, std::string>> aliases;  // and what they stand for
};
Table& table() {
  static Table* t = new Table;
  return *t;
}

std::string default_node_name(const std::string& name) {
  std::string out;
  bool upper = true;
  for (char c : name) {
    if (c == '_') {
      upper = true;
    } else {
      out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      upper = false;
    }
  }
  return out + "Backward0";
}

}  // namespace

namespace {

// Completes an entry whose schema is set and puts it into the table.
void add_entry(Entry* e) {
  const Schema& s = e->schema;
  e->id = s.overload.empty() ? s.name : s.name + "." + s.overload;
  e->public_name = s.name.substr(s.name.rfind('.') == std::string::npos ? 0 : s.name.rfind('.') + 1);
  Table& t = table();
  auto found = t.by_name.find(s.name);
  OpGroup* group = found == t.by_name.end() ? nullptr : found->second;
  if (!group) {
    group = new OpGroup{s.name, {}, {}};
    t.by_name[group->name] = group;  // the key views the group's own string
    t.groups.push_back(group);
  }
  group->overloads.push_back(e);
  FL_CHECK(!t.by_id.contains(e->id), "op ", e->id, " is declared twice");
  t.by_id[e->id] = e;
}

}  // namespace

Define::Define(const char* text) {
  auto* e = new Entry;
  e->schema = parse_schema(text);
  finish_schema(e->schema);
  add_entry(e);
  e->node_name = default_node_name(e->public_name);
  entry_ = e;
}

Define& Define::alias(const char* name) {
  declare_alias(name, entry_->schema.text.c_str());
  return *this;
}

void declare_alias(const char* alias, const char* schema) {
  table().aliases.emplace_back(alias, parse_schema(schema).name);
}

void connect_entries() {
  auto aliases = std::move(table().aliases);
  for (auto& [alias, target] : aliases) {
    OpGroup* group = find_group(target);
    for (Entry* original : std::vector<Entry*>(group->overloads)) {
      auto* e = new Entry(*original);
      e->schema.name = alias;
      e->schema.text = alias + original->schema.text.substr(target.size());
      add_entry(e);
    }
  }
  for (auto& [id, e] : table().by_id)
    if (e->forward_id) e->forward = find_entry(e->forward_id);
}

void Define::check_arity(size_t n) {
  FL_CHECK(n == entry_->schema.args.size(), "op ", entry_->id, ": its schema has ", entry_->schema.args.size(),
           " arguments, its kernel ", n);
}

Define& Define::vjp(const char* saves, void (*f)(Vjp&)) {
  entry_->vjp = f;
  std::string_view rest(saves);
  while (!rest.empty()) {
    size_t space = rest.find(' ');
    std::string_view word = rest.substr(0, space);
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
    if (word.empty()) continue;
    if (word.substr(0, 6) == "result") {
      entry_->saves_outputs |= 1u << (word.size() > 6 ? word[6] - '0' : 0);
      continue;
    }
    int i = entry_->schema.argument(word);
    FL_CHECK(i >= 0, "op ", entry_->id, ": its derivative saves ", word, ", which is no argument");
    entry_->saves_args |= 1u << i;
  }
  return *this;
}

Result Define::copy_then_in_place(const Entry& entry, const Value* args, const Destination*) {
  Tensor copy = raw_clone(borrow(args[0].tensor));
  Value changed[32];
  std::copy(args, args + entry.schema.args.size(), changed);
  changed[0] = Value(copy);
  entry.in_place(entry, changed);
  return Result(std::move(copy));
}

const std::vector<OpGroup*>& all_groups() { return table().groups; }
OpGroup* find_group(std::string_view name) {
  auto it = table().by_name.find(name);
  return it == table().by_name.end() ? nullptr : it->second;
}
const Entry* find_entry(std::string_view id) {
  auto it = table().by_id.find(id);
  return it == table().by_id.end() ? nullptr : it->second;
}

}  // namespace fl
