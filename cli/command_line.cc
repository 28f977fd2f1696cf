#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace onward::cli {
namespace {

void Constrain(CLI::App& app, CLI::Option& option, const Rule& rule) {
  option.required(rule.required);
  if (rule.positive) option.check(CLI::PositiveNumber);
  if (rule.existing_directories) option.check(CLI::ExistingDirectory);
  if (rule.bytes) option.transform(CLI::AsSizeValue(false));
  if (!rule.one_of.empty()) option.check(CLI::IsMember(rule.one_of));
  if (!rule.range.empty()) option.check(CLI::Range(rule.range[0], rule.range[1]));
  if (!rule.excludes.empty()) option.excludes(app.get_option(rule.excludes));
}

}  // namespace

void Command::Option(const std::string& name, std::string& value, const std::string& help,
                     const Rule& rule) {
  Constrain(*app_, *app_->add_option(name, value, help), rule);
}

void Command::Option(const std::string& name, std::vector<std::string>& values,
                     const std::string& help, const Rule& rule) {
  Constrain(*app_, *app_->add_option(name, values, help), rule);
}

void Command::Option(const std::string& name, int& value, const std::string& help,
                     const Rule& rule) {
  Constrain(*app_, *app_->add_option(name, value, help), rule);
}

void Command::Option(const std::string& name, uint64_t& value, const std::string& help,
                     const Rule& rule) {
  Constrain(*app_, *app_->add_option(name, value, help), rule);
}

void Command::Option(const std::string& name, std::optional<uint64_t>& value,
                     const std::string& help, const Rule& rule) {
  Constrain(*app_, *app_->add_option(name, value, help), rule);
}

void Command::Option(const std::string& name, double& value, const std::string& help,
                     const Rule& rule) {
  Constrain(*app_, *app_->add_option(name, value, help), rule);
}

void Command::Flag(const std::string& name, bool& value, const std::string& help,
                   const std::string& excludes) {
  CLI::Option* const flag = app_->add_flag(name, value, help);
  if (!excludes.empty()) flag->excludes(app_->get_option(excludes));
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
  return {command, &work_};
}

CommandLine::Outcome CommandLine::Parse(int argc, char** argv) {
  try {
    parser_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parser_->exit(error) == 0 ? Outcome::kHelp : Outcome::kWrongUsage;
  }
  return Outcome::kWork;
}

}  // namespace onward::cli
