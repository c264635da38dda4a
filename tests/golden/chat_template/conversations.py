"""Conversations that chat templates are tried on: the variables of each render, by name."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a place, now or on a day.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city, e.g. 'São Paulo' <or> \"Paris\" & so on"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "Unit"},
                "days": {"type": "integer", "description": "How many days", "default": 1, "minimum": 0},
                "precise": {"type": "boolean", "description": "Decimals, too"},
            },
            "required": ["city"],
        },
    },
}

ROUTE = {
    "type": "function",
    "function": {
        "name": "plan_route",
        "description": "Plans a route.\nTwo lines.",
        "parameters": {
            "type": "object",
            "properties": {
                "stops": {
                    "type": "array",
                    "description": "Places on the way",
                    "items": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}, "lat": {"type": "number"}},
                        "required": ["name"],
                    },
                },
                "options": {
                    "type": "object",
                    "description": "More",
                    "properties": {"tolls": {"type": "boolean", "nullable": True}},
                    "additionalProperties": {"type": "string"},
                },
                "when": {"type": ["string", "null"], "description": "ISO date"},
                "weight": {"oneOf": [{"type": "number"}, {"type": "string"}], "description": "kg"},
            },
            "required": ["stops", "when"],
        },
        "return": {"type": "string", "description": "The route"},
    },
}

NOTHING = {
    "type": "function",
    "function": {"name": "ping", "description": "Pings.", "parameters": {"type": "object", "properties": {}}},
}


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def system(text):
    return {"role": "system", "content": text}


def call(name, arguments, id="call12345"):
    return {"type": "function", "id": id, "function": {"name": name, "arguments": arguments}}


def tool(text, name="get_weather", id="call12345"):
    return {"role": "tool", "tool_call_id": id, "name": name, "content": text}


def part(text):
    return {"type": "text", "text": text}


PLAIN = [user("Hello, how are you?")]
SYSTEM = [system("You are terse."), user("Why is the sky blue?")]
TURNS = [
    user("Hi"),
    assistant("Hello! How can I help?"),
    user("Tell me a joke."),
    assistant("  Two bytes meet.\n"),
    user("\n And another, please. \t"),
]
TURNS_SYSTEM = [system("Be kind.\n")] + TURNS
UNICODE = [
    system("Zażółć gęślą jaźń – “quotes” ‘and’ \u00a0nbsp"),
    user("日本語 🎉 ñandú ẞ ß İstanbul ﬁ \u2028 sep \u200b zero"),
    assistant("Ответ: <b>да</b> & \"нет\" \\ back\tslash"),
    user("emoji 👩‍👩‍👧 done"),
]
TOOL_TURN = [
    user("What is the weather in Paris?"),
    assistant("", tool_calls=[call("get_weather", {"city": "Paris", "unit": "celsius"})]),
    tool('{"temperature": 21.5, "sky": "clear"}'),
    assistant("It is 21.5 °C and clear."),
    user("Thanks! And in Rome?"),
]
TOOL_NULL = [
    user("What is the weather in Paris?"),
    assistant(None, tool_calls=[call("get_weather", {"city": "Paris", "days": 3, "precise": True, "z": None})]),
    tool("21"),
]
TOOL_NO_CONTENT = [
    system("Use tools."),
    user("Go."),
    {"role": "assistant", "tool_calls": [call("ping", {})]},
    {"role": "tool", "tool_call_id": "call12345", "content": "pong"},
]
PARALLEL = [
    system("Use tools."),
    user("Paris and Rome?"),
    assistant(
        "I will look up both.",
        tool_calls=[
            call("get_weather", {"city": "Paris"}, "aaaaaaaaa"),
            call("get_weather", {"city": "Rome", "days": 2}, "bbbbbbbbb"),
        ],
    ),
    tool("sunny", id="aaaaaaaaa"),
    tool("rainy", id="bbbbbbbbb"),
    assistant("Paris is sunny, Rome is rainy."),
]
STRING_ARGUMENTS = [
    user("Go"),
    assistant("", tool_calls=[call("get_weather", '{"city": "Ōsaka"}')]),
    tool("ok"),
]
NESTED_ARGUMENTS = [
    user("Route, please"),
    assistant(
        "",
        tool_calls=[
            call(
                "plan_route",
                {
                    "stops": [{"name": "Ávila", "lat": 40.65}, {"name": "B", "lat": -1e-7}],
                    "options": {"tolls": False, "n": 1, "x": [], "y": {}},
                    "when": None,
                    "weight": 1e22,
                },
            )
        ],
    ),
]
REASONING = [
    user("What is 2+2?"),
    assistant("4", reasoning_content="Two and two\nmake four."),
    user("And 3+3?"),
    assistant("6", reasoning_content="\nThree and three.\n", thinking="Three and three."),
]
THINK_TAGS = [
    user("What is 2+2?"),
    assistant("<think>\nTwo and two.\n</think>\n\n4"),
    user("And 3+3?"),
]
REASONING_TOOLS = [
    user("Weather?"),
    assistant("Let me see.", reasoning_content="I need a tool.", tool_calls=[call("get_weather", {"city": "Nice"})]),
    tool("fine"),
    assistant("", reasoning_content="Another.", tool_calls=[call("ping", {})]),
    tool("pong", "ping"),
]
PARTS = [
    {"role": "system", "content": [part("Look closely.")]},
    {"role": "user", "content": [part("What "), {"type": "image"}, part("is this?")]},
    {"role": "assistant", "content": [part("A cat.")]},
    {"role": "user", "content": [part("Sure?"), {"type": "image_url", "image_url": {"url": "x"}}]},
]
VIDEO = [{"role": "user", "content": [{"type": "video", "video": "v.mp4"}, part("Describe"), {"type": "audio"}]}]
EMPTY = [user(""), assistant(""), user(" ")]
PREFILL = [user("Count."), assistant("One, two,")]
DEVELOPER = [{"role": "developer", "content": "Be exact."}, user("Hm?")]
DOUBLE_SYSTEM = [system("One."), user("Hi"), system("Two."), user("Again")]
BAD_ORDER = [user("a"), user("b"), assistant("c"), assistant("d")]
UNKNOWN_ROLE = [user("a"), {"role": "narrator", "content": "b"}]
TOOL_RESPONSE_USER = [
    user("Start"),
    assistant("x"),
    user("<tool_response>\n1\n</tool_response>"),
]
TOOL_OBJECT = [
    user("Go"),
    assistant("", tool_calls=[call("get_weather", {"city": "X"})]),
    {"role": "tool", "tool_call_id": "call12345", "name": "get_weather", "content": {"t": 1.0, "ok": True, "n": None}},
]
TOOL_PARTS = [
    user("Go"),
    assistant("", tool_calls=[call("get_weather", {"city": "X"})]),
    {"role": "tool", "tool_call_id": "call12345", "name": "get_weather", "content": [part("a"), part("b")]},
]
DOCUMENTS = [
    {"title": "Cats", "text": "Cats sleep a lot.", "doc_id": 1},
    {"title": "Dogs", "text": "Dogs bark.", "doc_id": 2},
]


def cases():
    """(name, variables) for every render."""
    tools = [WEATHER]
    many = [WEATHER, ROUTE, NOTHING]
    prompt = {"add_generation_prompt": True}
    plain = {
        "plain": PLAIN,
        "system": SYSTEM,
        "turns": TURNS,
        "turns_system": TURNS_SYSTEM,
        "unicode": UNICODE,
        "tool_turn": TOOL_TURN,
        "tool_null": TOOL_NULL,
        "tool_no_content": TOOL_NO_CONTENT,
        "parallel": PARALLEL,
        "string_arguments": STRING_ARGUMENTS,
        "nested_arguments": NESTED_ARGUMENTS,
        "reasoning": REASONING,
        "think_tags": THINK_TAGS,
        "reasoning_tools": REASONING_TOOLS,
        "parts": PARTS,
        "video": VIDEO,
        "empty": EMPTY,
        "prefill": PREFILL,
        "developer": DEVELOPER,
        "double_system": DOUBLE_SYSTEM,
        "bad_order": BAD_ORDER,
        "unknown_role": UNKNOWN_ROLE,
        "tool_response_user": TOOL_RESPONSE_USER,
        "tool_object": TOOL_OBJECT,
        "tool_parts": TOOL_PARTS,
        "no_messages": [],
    }
    for name, messages in plain.items():
        yield name, {"messages": messages, **prompt}
    for name in ("plain", "turns_system", "reasoning", "prefill", "reasoning_tools"):
        yield name + "+closed", {"messages": plain[name], "add_generation_prompt": False}
    for name in ("plain", "system", "tool_turn", "parallel", "reasoning_tools", "turns"):
        yield name + "+tools", {"messages": plain[name], "tools": tools, **prompt}
    for name in ("plain", "tool_null", "nested_arguments"):
        yield name + "+many", {"messages": plain[name], "tools": many, **prompt}
    yield "plain+null_tools", {"messages": PLAIN, "tools": None, "documents": None, **prompt}
    yield "plain+no_tools", {"messages": PLAIN, "tools": [], **prompt}
    yield "plain+bare_tools", {"messages": PLAIN, "tools": [WEATHER["function"]], **prompt}
    for thinking in (True, False):
        for name in ("plain", "reasoning", "think_tags"):
            yield f"{name}+thinking={thinking}", {
                "messages": plain[name],
                "enable_thinking": thinking,
                "thinking": thinking,
                **prompt,
            }
    yield "system+no_think", {"messages": [system("Be brief. /no_think"), user("Hi")], **prompt}
    yield "plain+documents", {"messages": PLAIN, "documents": DOCUMENTS, **prompt}
    yield "system+documents+tools", {"messages": SYSTEM, "documents": DOCUMENTS, "tools": tools, **prompt}
    yield "plain+builtin", {
        "messages": TOOL_TURN,
        "builtin_tools": ["python", "browser", "code_interpreter", "get_weather"],
        "tools_in_user_message": False,
        "tools": tools,
        "date_string": "1 Jan 2025",
        "reasoning_effort": "high",
        "model_identity": "You are a test.",
        **prompt,
    }
    yield "system+vision", {"messages": PARTS, "add_vision_id": True, **prompt}
    yield "system+custom_tools", {"messages": SYSTEM, "custom_tools": tools, **prompt}
