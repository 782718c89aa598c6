// A daemon with lasting cells, and what tests say to it.
#pragma once
#include <string>

#include "daemon/rest_client.h"
#include "server/json/json_value.h"

namespace hotcell::testing {

class CellsRest : public DaemonFixture {
 protected:
  void SetUp() override;
  void TearDown() override;     // every cell is removed, and the keeper goes by itself

  std::string make(const std::string& body = "{}");            // its id
  std::string cell(const std::string& id, const std::string& rest = {}) const { return "/api/v1/cells/" + id + rest; }
  std::string sh(const std::string& id, const std::string& line);   // stdout of /bin/sh -c
  int keeper_pid() const;       // 0: there is none
  // A tool of the MCP door; what it answers: content, structuredContent, isError.
  server::JsonValue mcp(const std::string& tool, const std::string& arguments);
  void expect_as_promised();    // every answer so far is what the OpenAPI document says
  std::string more_config;      // further lines of the section `cells`, before SetUp
  std::string project;          // a folder that the configuration names; a.txt, sub/b.txt are in it

 private:
  std::string around_;
};

std::string text_field(const std::string& json, const std::string& name);   // of the first member of that name
std::string layer_status(const std::string& cell, const std::string& layer);   // of a cell as it is inspected
std::string front_of(int daemon);                                            // the pid of its process that speaks HTTP
bool has(const std::string& text, const std::string& part);

}  // namespace hotcell::testing
