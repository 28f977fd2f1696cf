// The command line: subcommands, their options, and what to do when one is named. CLI11 stays
// behind it and is compiled once, in command_line.cc: its headers cost seconds per source.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace onward::cli {

// The rule that an option's value must satisfy.
struct Rule {
  bool required = false;
  bool positive = false;
  bool existing_directories = false;
  bool bytes = false;                    // see ParseBytes
  std::vector<std::string> one_of = {};  // empty: anything; with `check`, examples
  std::vector<int> range = {};           // first and last; empty: anything
  std::string excludes = {};             // the name of an option that may not come along
  std::string environment = {};  // the variable that gives the value where the option is not
  // Says what is wrong with a value, or returns "".
  std::function<std::string(const std::string&)> check = {};
};

// An option or argument of a command, as its help names it.
struct OptionDescription {
  std::vector<std::string> names;  // "--output", "-o"; of an argument its name, without dashes
  std::string help;
  std::vector<std::string> one_of = {};  // see Rule
  bool takes_value = true;
  bool repeats = false;
};

struct CommandDescription {
  std::string name, summary;
  std::vector<OptionDescription> options;
};

// One subcommand. The variables given to it must outlive the parsing.
class Command {
 public:
  // `name`: "model" for an argument by position, "--shape" or "-o,--output" for an option. A vector
  // takes every value that is given.
  void Option(const std::string& name, std::string& value, const std::string& help,
              const Rule& rule = {});
  void Option(const std::string& name, std::vector<std::string>& values, const std::string& help,
              const Rule& rule = {});
  void Option(const std::string& name, int& value, const std::string& help, const Rule& rule = {});
  void Option(const std::string& name, uint64_t& value, const std::string& help,
              const Rule& rule = {});
  void Option(const std::string& name, std::optional<uint64_t>& value, const std::string& help,
              const Rule& rule = {});
  void Option(const std::string& name, double& value, const std::string& help,
              const Rule& rule = {});
  // `excludes`: the name of an option that may not come along.
  void Flag(const std::string& name, bool& value, const std::string& help,
            const std::string& excludes = "");

  // Sets the work of the subcommand. `missing` names what a complete command line would
  // have besides; empty: nothing.
  void Do(std::function<absl::Status()> work, std::function<std::string()> missing = {});

 private:
  friend class CommandLine;
  Command(CLI::App* app, std::function<absl::Status()>* work, CommandDescription* description)
      : app_(app), work_(work), description_(description) {}
  void Describe(const std::string& name, const std::string& help, const Rule& rule);

  CLI::App* app_;
  std::function<absl::Status()>* work_;
  CommandDescription* description_;
};

class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& name, const std::string& example);
  ~CommandLine();

  Command Add(const std::string& name, const std::string& summary, const std::string& example);

  // Describes the commands so far, in their order.
  const std::deque<CommandDescription>& descriptions() const { return descriptions_; }

  // Prints help or what is wrong with the command line.
  enum class Outcome { kWork, kHelp, kWrongUsage };
  Outcome Parse(int argc, char** argv);
  // Does what the subcommand that was named has to do.
  absl::Status Work() const { return work_(); }

 private:
  std::unique_ptr<CLI::App> parser_;
  std::function<absl::Status()> work_;
  std::deque<CommandDescription> descriptions_;  // commands point into it
};

}  // namespace onward::cli
