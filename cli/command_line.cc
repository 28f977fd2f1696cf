#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/base/byte_text.h"
#include "graph/base/closest_name.h"

namespace onward::cli {
namespace {

// "512MB" into the number of bytes; an error message, or "".
std::string AsBytes(std::string& text) {
  const absl::StatusOr<int64_t> bytes = ParseBytes("a size", text);
  if (!bytes.ok()) return std::string(bytes.status().message());
  text = absl::StrCat(*bytes);
  return "";
}

void Constrain(CLI::App& app, CLI::Option& option, const Rule& rule) {
  option.required(rule.required);
  if (rule.positive) option.check(CLI::PositiveNumber);
  if (rule.existing_directories) option.check(CLI::ExistingDirectory);
  if (rule.bytes) option.transform(CLI::Validator(AsBytes, "SIZE", "SIZE"));
  if (!rule.one_of.empty() && !rule.check) option.check(CLI::IsMember(rule.one_of));
  if (!rule.range.empty()) option.check(CLI::Range(rule.range[0], rule.range[1]));
  if (rule.check)
    option.check(
        CLI::Validator([check = rule.check](std::string& text) { return check(text); }, ""));
  if (!rule.environment.empty()) option.envname(rule.environment);
  if (!rule.excludes.empty()) option.excludes(app.get_option(rule.excludes));
}

std::vector<std::string> CommandNames(CLI::App& parser) {
  std::vector<std::string> names;
  for (const CLI::App* command : parser.get_subcommands(nullptr))
    names.push_back(command->get_name());
  return names;
}

// Says why the first argument does not name a command; "" where it does.
std::string UnknownCommand(CLI::App& parser, const std::string& first) {
  const std::vector<std::string> names = CommandNames(parser);
  if (std::find(names.begin(), names.end(), first) != names.end()) return "";
  const std::string what =
      first.empty() ? "a command is missing"
                    : absl::StrCat("there is no command '", first, "'", DidYouMean(first, names));
  return absl::StrCat("error: ", what, "\nThe commands are ", absl::StrJoin(names, ", "),
                      "; `onward --help` says what they do.\n");
}

// The option that the first unexpected argument may stand for.
std::string ClosestOption(CLI::App& parser) {
  for (CLI::App* command : parser.get_subcommands()) {
    const std::vector<std::string> extras = command->remaining();
    if (extras.empty() || extras[0].size() < 3 || extras[0].compare(0, 2, "--") != 0) continue;
    std::vector<std::string> names;
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return DidYouMean(extras[0].substr(0, extras[0].find('=')), names);
  }
  return "";
}

}  // namespace

void Command::Option(const std::string& name, std::string& value, const std::string& help,
                     const Rule& rule) {
  Constrain(*app_, *app_->add_option(name, value, help), rule);
  Describe(name, help, rule);
}

void Command::Option(const std::string& name, std::vector<std::string>& values,
                     const std::string& help, const Rule& rule) {
  Constrain(*app_, *app_->add_option(name, values, help), rule);
  Describe(name, help, rule);
  description_->options.back().repeats = true;
}

void Command::Option(const std::string& name, int& value, const std::string& help,
                     const Rule& rule) {
  Constrain(*app_, *app_->add_option(name, value, help), rule);
  Describe(name, help, rule);
}

void Command::Option(const std::string& name, uint64_t& value, const std::string& help,
                     const Rule& rule) {
  Constrain(*app_, *app_->add_option(name, value, help), rule);
  Describe(name, help, rule);
}

void Command::Option(const std::string& name, std::optional<uint64_t>& value,
                     const std::string& help, const Rule& rule) {
  Constrain(*app_, *app_->add_option(name, value, help), rule);
  Describe(name, help, rule);
}

void Command::Option(const std::string& name, double& value, const std::string& help,
                     const Rule& rule) {
  Constrain(*app_, *app_->add_option(name, value, help), rule);
  Describe(name, help, rule);
}

void Command::Flag(const std::string& name, bool& value, const std::string& help,
                   const std::string& excludes) {
  CLI::Option* const flag = app_->add_flag(name, value, help);
  if (!excludes.empty()) flag->excludes(app_->get_option(excludes));
  Describe(name, help, {});
  description_->options.back().takes_value = false;
}

void Command::Describe(const std::string& name, const std::string& help, const Rule& rule) {
  description_->options.push_back({absl::StrSplit(name, ','), help, rule.one_of});
}

void Command::Do(std::function<absl::Status()> work, std::function<std::string()> missing) {
  app_->callback([chosen = work_, work = std::move(work), missing = std::move(missing)] {
    const std::string what = missing ? missing() : "";
    if (!what.empty()) throw CLI::RequiredError(what);
    *chosen = work;
  });
}

CommandLine::CommandLine(const std::string& description, const std::string& name,
                         const std::string& example)
    : parser_(std::make_unique<CLI::App>(description, name)) {
  parser_->require_subcommand(1);
  parser_->footer("Example:\n  " + example);
}

CommandLine::~CommandLine() = default;

Command CommandLine::Add(const std::string& name, const std::string& summary,
                         const std::string& example) {
  CLI::App* command = parser_->add_subcommand(name, summary);
  command->footer("Example:\n  " + example);
  descriptions_.push_back({name, summary, {{{"--help", "-h"}, "print the help", {}, false}}});
  return {command, &work_, &descriptions_.back()};
}

CommandLine::Outcome CommandLine::Parse(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(1, argc), argv + argc);
  if (!arguments.empty() && arguments[0] == "--version") arguments[0] = "version";
  const std::string first = arguments.empty() ? "" : arguments[0];
  if (first.empty() || first[0] != '-') {
    const std::string wrong = UnknownCommand(*parser_, first);
    if (!wrong.empty()) {
      std::fputs(wrong.c_str(), stderr);
      return Outcome::kWrongUsage;
    }
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // as the parser takes them
    parser_->parse(std::move(arguments));
  } catch (const CLI::ExtrasError& error) {
    std::fprintf(stderr, "error: %s%s\nRun with --help for more information.\n", error.what(),
                 ClosestOption(*parser_).c_str());
    return Outcome::kWrongUsage;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0 && parser_->get_subcommands().empty()) {
      std::fputs(UnknownCommand(*parser_, "").c_str(), stderr);
      return Outcome::kWrongUsage;
    }
    return parser_->exit(error) == 0 ? Outcome::kHelp : Outcome::kWrongUsage;
  }
  return Outcome::kWork;
}

}  // namespace onward::cli
