/* tokenizer_gguf_pre.c - see tokenizer_gguf_pre.h. The expressions are those of the models'
 * published tokenizer.json files. */
#include "server/text/tokenizer_gguf_pre.h"

#include <string.h>

#define CONTRACTION   "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define OTHER_NEWLINE " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
#define OTHER_SLASH   " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*"
#define SPACES        "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define LETTERS       "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define UPPER         "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER         "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(suffix)                                                                              \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" suffix "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER  \
    "*" suffix
#define NOT_HAN_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]"
#define NOT_HAN_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]"

#define GPT2_REGEX                                                                                 \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define DEEPSEEK_PUNCTUATION "\\s?[!-/:-~！-／：-～‘-‟　-。]+"
#define DEEPSEEK_HAN         "[一-龥ࠀ-一가-퟿]+"
#define DEEPSEEK3_WORDS                                                                            \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"                                        \
    "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*"                          \
    "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"

static const struct gguf_pre_kind kind_default = {
    .regexes = {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2_REGEX, "\\p{N}+", "[0-9][0-9][0-9]"}};
static const struct gguf_pre_kind kind_gpt2 = {.regexes = {GPT2_REGEX}};
static const struct gguf_pre_kind kind_digits = {.regexes = {"\\p{N}", GPT2_REGEX}};
static const struct gguf_pre_kind kind_falcon = {
    .regexes = {"[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2_REGEX, "[0-9][0-9][0-9]"}};
static const struct gguf_pre_kind kind_llama3 = {
    .regexes = {CONTRACTION "|" LETTERS "|\\p{N}{1,3}|" OTHER_NEWLINE "|" SPACES}};
static const struct gguf_pre_kind kind_qwen2 = {
    .regexes = {CONTRACTION "|" LETTERS "|\\p{N}|" OTHER_NEWLINE "|" SPACES}, .nfc = true};
static const struct gguf_pre_kind kind_like_qwen2 = {
    .regexes = {CONTRACTION "|" LETTERS "|\\p{N}|" OTHER_NEWLINE "|" SPACES}};
static const struct gguf_pre_kind kind_qwen35 = {
    .regexes = {CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| "
                            "?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES},
    .nfc = true};
static const struct gguf_pre_kind kind_tekken = {
    .regexes = {CASED("") "|\\p{N}|" OTHER_SLASH "|" SPACES}};
static const struct gguf_pre_kind kind_gpt4o = {
    .regexes = {CASED(CONTRACTION "?") "|\\p{N}{1,3}|" OTHER_SLASH "|" SPACES}};
static const struct gguf_pre_kind kind_kimi = {
    .regexes = {"[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?" NOT_HAN_UPPER "*" NOT_HAN_LOWER "+" CONTRACTION
                "?|[^\\r\\n\\p{L}\\p{N}]?" NOT_HAN_UPPER "+" NOT_HAN_LOWER "*" CONTRACTION
                "?|\\p{N}{1,3}|" OTHER_NEWLINE "|" SPACES}};
static const struct gguf_pre_kind kind_deepseek_llm = {
    .regexes = {"[\r\n]", "\\s?[\\p{Lu}\\p{Ll}\\p{Lt}]+", DEEPSEEK_PUNCTUATION, "\\s+$",
                DEEPSEEK_HAN "|\\p{N}"}};
static const struct gguf_pre_kind kind_deepseek_coder = {
    .regexes = {"[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", DEEPSEEK_HAN, "\\p{N}"}};
static const struct gguf_pre_kind kind_deepseek3 = {
    .regexes = {"\\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK3_WORDS}};
static const struct gguf_pre_kind kind_bloom = {.regexes = {" ?[^(\\s|.,!?…。，、।۔،)]+"}};
static const struct gguf_pre_kind kind_viking = {
    .regexes = {" ?[^(\\s|.,!?…。，、।۔،)]+", "\\p{N}"}};
static const struct gguf_pre_kind kind_bailing = {
    .regexes = {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| "
                "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}};
static const struct gguf_pre_kind kind_seed_coder = {
    .regexes = {CONTRACTION "|" LETTERS "|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\r\n]+|" SPACES}};

static const struct gguf_pre names[] = {
    {"default", &kind_default, false, false},
    {"gpt-2", &kind_gpt2, false, false},
    {"phi-2", &kind_gpt2, false, false},
    {"mpt", &kind_gpt2, false, false},
    {"olmo", &kind_gpt2, false, false},
    {"jais", &kind_gpt2, false, false},
    {"exaone4", &kind_gpt2, false, false},
    {"gigachat", &kind_gpt2, false, false},
    {"trillion", &kind_gpt2, false, false},
    {"mellum", &kind_gpt2, false, false},
    {"a.x-4.0", &kind_gpt2, false, false},
    {"granite-docling", &kind_gpt2, false, false},
    {"smollm", &kind_digits, false, false},
    {"starcoder", &kind_digits, false, false},
    {"refact", &kind_digits, false, false},
    {"command-r", &kind_digits, false, false},
    {"codeshell", &kind_digits, false, false},
    {"exaone", &kind_digits, false, false},
    {"minerva-7b", &kind_digits, false, false},
    {"mellum2", &kind_digits, false, false},
    {"falcon", &kind_falcon, false, false},
    {"llama3", &kind_llama3, true, true},
    {"llama-v3", &kind_llama3, true, true},
    {"llama-bpe", &kind_llama3, true, true},
    {"falcon3", &kind_llama3, true, true},
    {"falcon-h1", &kind_llama3, true, true},
    {"pixtral", &kind_llama3, true, true},
    {"midm-2.0", &kind_llama3, true, true},
    {"lfm2", &kind_llama3, true, true},
    {"dbrx", &kind_llama3, false, false},
    {"smaug-bpe", &kind_llama3, false, false},
    {"glm4", &kind_llama3, false, false},
    {"chatglm-bpe", &kind_llama3, false, false},
    {"qwen2", &kind_qwen2, false, false},
    {"deepseek-r1-qwen", &kind_qwen2, false, false},
    {"megrez", &kind_qwen2, false, false},
    {"qwen35", &kind_qwen35, false, false},
    {"stablelm2", &kind_like_qwen2, false, false},
    {"hunyuan", &kind_like_qwen2, false, false},
    {"solar-open", &kind_like_qwen2, false, false},
    {"grok-2", &kind_like_qwen2, false, false},
    {"tekken", &kind_tekken, true, true},
    {"mistral", &kind_tekken, true, true},
    {"gpt-4o", &kind_gpt4o, false, false},
    {"llama4", &kind_gpt4o, false, false},
    {"kanana2", &kind_gpt4o, false, false},
    {"minimax-m2", &kind_gpt4o, false, false},
    {"kimi-k2", &kind_kimi, false, false},
    {"deepseek-llm", &kind_deepseek_llm, false, false},
    {"deepseek-coder", &kind_deepseek_coder, false, false},
    {"deepseek-v3", &kind_deepseek3, false, false},
    {"hunyuan-dense", &kind_deepseek3, false, false},
    {"joyai-llm", &kind_deepseek3, false, false},
    {"bloom", &kind_bloom, false, false},
    {"poro-chat", &kind_bloom, false, false},
    {"gpt3-finnish", &kind_bloom, false, false},
    {"viking", &kind_viking, false, false},
    {"bailingmoe", &kind_bailing, false, false},
    {"bailingmoe2", &kind_bailing, false, false},
    {"llada-moe", &kind_bailing, false, false},
    {"seed-coder", &kind_seed_coder, false, false},
};

const struct gguf_pre *gguf_pre_find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strlen(names[i].name) == len && !memcmp(names[i].name, name, len)) return &names[i];
    return NULL;
}
