// Patterns of a schema's strings.
#include "generation/grammar/pattern_syntax.h"
#include "generation/grammar/schema_compiler.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

using Node = Grammar::Node;

Node Build(const PatternTree& tree, JsonGrammar& grammar, Node next) {
  GrammarBuilder& b = grammar.builder();
  switch (tree.kind) {
    case PatternTree::Kind::kCharacter:
      return grammar.Character(tree.characters, next);
    case PatternTree::Kind::kSequence:
      for (size_t i = tree.parts.size(); i-- > 0;) next = Build(tree.parts[i], grammar, next);
      return next;
    case PatternTree::Kind::kChoice: {
      std::vector<Node> ways;
      for (const PatternTree& part : tree.parts) ways.push_back(Build(part, grammar, next));
      return b.Choice(ways);
    }
    default: {
      const int32_t rule = b.Rule(Build(tree.parts[0], grammar, Grammar::kReturn));
      return b.Repeat(rule, tree.least, tree.most, next);
    }
  }
}

}  // namespace

absl::StatusOr<Node> PatternNode(std::string_view pattern, JsonGrammar& grammar, Node next) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<PatternWay> ways, ParsePattern(pattern));
  std::vector<Node> made;
  for (const PatternWay& way : ways) {
    const Node end = way.at_end ? next : grammar.Characters(0, kNoLimit, next);
    const Node node = Build(way.tree, grammar, end);
    made.push_back(way.at_begin ? node : grammar.Characters(0, kNoLimit, node));
  }
  return grammar.builder().Choice(made);
}

}  // namespace onward::generation
