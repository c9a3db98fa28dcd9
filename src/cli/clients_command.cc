#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "client/model_words.h"
#include "formats/json_text.h"

namespace hopgap::cli {
namespace {

constexpr size_t kWidth = 80, kIndent = 16, kFactIndent = 33;

struct ClientsFlags {
  std::string name;
  bool json = false;
};

// "  waits for  " and the text, wrapped beside it.
std::string Paragraph(std::string_view head, std::string_view text, size_t indent = kIndent) {
  std::string out, line = StrCat("  ", head);
  line.resize(indent - 1, ' ');
  for (const std::string_view word : Split(text, ' ')) {
    if (line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line = std::string(indent - 1, ' ');
    }
    line += StrCat(" ", word);
  }
  return out + line + "\n";
}

std::string ShortText(const client::Model& model) {
  const client::ModelWords& words = client::WordsOf(model.name);
  return StrCat(model.name, "\n", Paragraph("is", words.library), Paragraph("waits for", words.waits_for),
                Paragraph("gives up", words.gives_up));
}

std::string LongText(const client::Model& model) {
  const client::ModelWords& words = client::WordsOf(model.name);
  std::string text = StrCat(ShortText(model), Paragraph("settings", words.settings));
  if (!words.differs.empty()) text += Paragraph("not modelled", words.differs);
  text += "\n";
  for (const client::ModelFact& fact : client::FactsOf(model)) text += Paragraph(fact.name, fact.value, kFactIndent);
  text += StrCat("\nAs an arm: --arm eos-", model.name, " or --arm std-", model.name,
                 "\nWith its own number of streams: --arm NAME:eos-", model.name, ",streams=default\n");
  return text;
}

void AppendField(std::string_view key, std::string_view value, std::string& text) {
  text += StrCat(", \"", key, "\": ");
  formats::AppendJsonText(value, text);
}

void AppendJson(const client::Model& model, std::string& text) {
  const client::ModelWords& words = client::WordsOf(model.name);
  text += "\n  {\"name\": ";
  formats::AppendJsonText(model.name, text);
  AppendField("library", words.library, text);
  AppendField("waits_for", words.waits_for, text);
  AppendField("gives_up", words.gives_up, text);
  AppendField("settings", words.settings, text);
  AppendField("not_modelled", words.differs, text);
  text += StrCat(", \"streams\": ", model.streams, ", \"behaviours\": {");
  const std::vector<client::ModelFact> facts = client::FactsOf(model);
  for (const client::ModelFact& fact : facts) {
    if (&fact != &facts.front()) text += ", ";
    formats::AppendJsonText(fact.name, text);
    text += ": ";
    formats::AppendJsonText(fact.value, text);
  }
  text += "}}";
}

int ClientsCommand(const ClientsFlags& flags) {
  std::vector<client::Model> models;
  const std::vector<std::string> names =
      flags.name.empty() ? client::ModelNames() : std::vector<std::string>{flags.name};
  for (const std::string& name : names) {
    absl::StatusOr<client::Model> model = client::FindModel(name);
    if (!model.ok()) return Fail(kBadConfiguration, StrCat("clients ", name, ": ", MessageOf(model.status())));
    models.push_back(*std::move(model));
  }
  std::string text = flags.json ? "{\"schema\": \"hopgap.clients/1\", \"models\": [" : "";
  for (const client::Model& model : models) {
    if (flags.json) {
      if (&model != &models.front()) text += ",";
      AppendJson(model, text);
    } else if (models.size() == 1) {
      text += LongText(model);
    } else {
      text += StrCat(ShortText(model), "\n");
    }
  }
  if (flags.json) {
    text += "\n]}\n";
  } else if (models.size() > 1) {
    text += "hopgap clients NAME tells more of one;\nhopgap simulate --arm eos-NAME measures it.\n";
  }
  std::fputs(text.c_str(), stdout);
  return kOk;
}

}  // namespace

void AddClients(CLI::App& app, Commands& commands) {
  auto flags = std::make_shared<ClientsFlags>();
  CLI::App* command = app.add_subcommand("clients", "what the client models wait for, give up, and let users turn");
  command->group("Explain");
  command->add_option("NAME", flags->name, "one model, with all its behaviours");
  command->add_flag("--json", flags->json, "print one JSON document (docs/json.md)");
  commands.push_back({command, [flags] { return ClientsCommand(*flags); }, false});
}

}  // namespace hopgap::cli
