#include "parse/syntax_tree.h"

#include <gtest/gtest.h>

using namespace hotcell;

namespace {

TEST(SyntaxTree, HasTheNodesOfTheTextInItsOrder) {
  auto tree = parse_source(Grammar::kPython, "import os\nos.system('é', 1)\n");
  ASSERT_TRUE(tree.ok());
  const SyntaxTree& t = tree.value();
  EXPECT_FALSE(t.has_error());
  EXPECT_EQ(t.kind(0), "module");
  NodeId call = kNoNode;
  for (NodeId n = 0; n < t.size(); ++n)
    if (t.is(n, "call")) call = n;
  ASSERT_NE(call, kNoNode);
  EXPECT_EQ(t.text(t.child_by_field(call, "function")), "os.system");
  NodeId arguments = t.child_by_field(call, "arguments");
  auto given = t.named_children(arguments);
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(t.place_of(given[1]).line, 2);
  EXPECT_EQ(t.place_of(given[1]).column, 16);
  EXPECT_EQ(t.source().line_text(2), "os.system('é', 1)");
  EXPECT_EQ(t.end_of(0), t.size());
}

TEST(SyntaxTree, ErrorsAreSeenInEveryGrammar) {
  for (auto g : {Grammar::kPython, Grammar::kC, Grammar::kCpp, Grammar::kRust, Grammar::kGo, Grammar::kJava,
                 Grammar::kJavascript, Grammar::kTypescript, Grammar::kTsx}) {
    auto tree = parse_source(g, "((((");
    ASSERT_TRUE(tree.ok());
    EXPECT_TRUE(tree.value().has_error()) << static_cast<int>(g);
    auto empty = parse_source(g, "");
    ASSERT_TRUE(empty.ok());
    EXPECT_FALSE(empty.value().has_error()) << static_cast<int>(g);
  }
}

}  // namespace
