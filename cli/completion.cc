// onward completion: scripts by which shells complete the command line.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/command.h"

namespace onward::cli {
namespace {

using Descriptions = std::deque<CommandDescription>;

bool IsArgument(const OptionDescription& option) { return option.names[0][0] != '-'; }

// Options by all their names; all, or those that take a value.
std::vector<std::string> NamesOf(const CommandDescription& command, bool only_with_value) {
  std::vector<std::string> names;
  for (const OptionDescription& option : command.options) {
    if (IsArgument(option) || (only_with_value && !option.takes_value)) continue;
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::string Words(const std::vector<std::string>& words) { return absl::StrJoin(words, " "); }

// The words that the argument of a command may be; none: files.
std::vector<std::string> ArgumentWords(const CommandDescription& command) {
  for (const OptionDescription& option : command.options)
    if (IsArgument(option)) return option.one_of;
  return {};
}

// A text within single quotes. Zsh's _arguments takes brackets and colons for its own.
std::string Quoted(const std::string& text, bool for_zsh) {
  std::string escaped =
      for_zsh
          ? absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}})
          : absl::StrReplaceAll(text, {{"\\", "\\\\"}});
  return absl::StrReplaceAll(escaped, {{"'", "'\\''"}});
}

// Makes zsh offer one of the words, or files where there are none.
std::string ZshValues(const std::vector<std::string>& words) {
  return words.empty() ? ":value:_files" : absl::StrCat(":value:(", Words(words), ")");
}

std::string ZshOption(const OptionDescription& option) {
  const std::string rest = option.takes_value ? ZshValues(option.one_of) : "";
  std::string lines;
  for (const std::string& name : option.names) {
    absl::StrAppend(&lines, "        '", option.repeats ? "*" : "", name, "[",
                    Quoted(option.help, /*for_zsh=*/true), "]", rest, "' \\\n");
  }
  return lines;
}

std::string FishOption(const std::string& command, const OptionDescription& option) {
  std::string line =
      absl::StrCat("complete -c onward -n '__fish_seen_subcommand_from ", command, "'");
  if (IsArgument(option)) {
    if (option.one_of.empty()) return "";  // files, as without a completion
    return absl::StrCat(line, " -f -a '", Words(option.one_of), "'\n");
  }
  for (const std::string& name : option.names) {
    const bool is_long = absl::StartsWith(name, "--");
    absl::StrAppend(&line, is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1));
  }
  if (!option.one_of.empty()) {
    absl::StrAppend(&line, " -x -a '", Words(option.one_of), "'");
  } else if (option.takes_value) {
    absl::StrAppend(&line, " -r");
  }
  return absl::StrCat(line, " -d '", Quoted(option.help, /*for_zsh=*/false), "'\n");
}

std::string BashCompletion(const Descriptions& commands) {
  std::string cases;
  std::vector<std::string> names;
  for (const CommandDescription& command : commands) {
    names.push_back(command.name);
    absl::StrAppend(&cases, "    *:", command.name, ")\n      case $before in\n");
    for (const OptionDescription& option : command.options) {
      if (IsArgument(option) || option.one_of.empty()) continue;
      absl::StrAppend(&cases, "        ", absl::StrJoin(option.names, "|"), ") words='",
                      Words(option.one_of), "' ;;\n");
    }
    // After other options with a value come files.
    absl::StrAppend(&cases, "        ", absl::StrJoin(NamesOf(command, true), "|"), ") ;;\n",
                    "        *) if [[ $word == -* ]]; then words='", Words(NamesOf(command, false)),
                    "'; else words='", Words(ArgumentWords(command)), "'; fi ;;\n      esac ;;\n");
  }
  return absl::StrCat(
      "# Completes onward's command line in bash: source <(onward completion bash)\n"
      "_onward() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=''\n"
      "  case $COMP_CWORD:${COMP_WORDS[1]} in\n"
      "    1:*) words='",
      Words(names), "' ;;\n", cases,
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}\n"
      "complete -o bashdefault -o default -F _onward onward\n");
}

std::string ZshCompletion(const Descriptions& commands) {
  std::string names, cases;
  for (const CommandDescription& command : commands) {
    absl::StrAppend(&names, "    '", command.name, ":", Quoted(command.summary, false), "'\n");
    absl::StrAppend(&cases, "    ", command.name, ")\n      _arguments \\\n");
    for (const OptionDescription& option : command.options)
      if (!IsArgument(option)) cases += ZshOption(option);
    absl::StrAppend(&cases, "        '*", ZshValues(ArgumentWords(command)), "' ;;\n");
  }
  return absl::StrCat(
      "#compdef onward\n"
      "# Completes onward's command line in zsh: source <(onward completion zsh), after compinit\n"
      "_onward() {\n"
      "  local -a commands=(\n",
      names,
      "  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case ${words[1]} in\n",
      cases,
      "  esac\n"
      "}\n"
      "compdef _onward onward\n");
}

std::string FishCompletion(const Descriptions& commands) {
  std::string text = "# Completes onward's command line in fish: onward completion fish | source\n";
  for (const CommandDescription& command : commands) {
    absl::StrAppend(&text, "complete -c onward -f -n __fish_use_subcommand -a ", command.name,
                    " -d '", Quoted(command.summary, /*for_zsh=*/false), "'\n");
  }
  for (const CommandDescription& command : commands)
    for (const OptionDescription& option : command.options)
      text += FishOption(command.name, option);
  return text;
}

struct Shell {
  const char* name;
  std::string (*script)(const Descriptions& commands);
};
constexpr Shell kShells[] = {
    {"bash", BashCompletion}, {"fish", FishCompletion}, {"zsh", ZshCompletion}};

}  // namespace

void AddCompletion(CommandLine& line, CommonOptions& common) {
  auto name = std::make_shared<std::string>();
  std::vector<std::string> names;
  for (const Shell& shell : kShells) names.emplace_back(shell.name);
  Command command = NewCommand(line, common, "completion", "Prints a shell's completions",
                               "source <(onward completion bash)");
  command.Option("shell", *name, "the shell that is to complete onward's command line",
                 {.required = true, .one_of = names});
  command.Do([name, &line, &common] {
    const auto* shell = std::find_if(std::begin(kShells), std::end(kShells),
                                     [&](const Shell& each) { return *name == each.name; });
    const std::string script = shell->script(line.descriptions());
    std::printf("%s", common.json
                          ? nlohmann::json({{"script", script}}).dump(2).append("\n").c_str()
                          : script.c_str());
    return absl::OkStatus();
  });
}

}  // namespace onward::cli
