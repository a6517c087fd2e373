/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "marshal.h"
#include "options.h"
#include "rules/rules.h"
#include "run.h"
#include "sandbox.h"
#include "script.h"
#include "steer.h"
#include "verbs/alloc.h"
#include "verbs/file.h"
#include "verbs/nearest.h"
#include "verbs/profile.h"
#include "verbs/units.h"

#define MAX_SCRIPT_SIZE ((size_t)16 << 20)

/* ---- srd.scenario(name, options, body) ---- */

static const char *const needs[] = {
	"faults", "fabric", "virtual_time", "origin", "hosts", "model", "peers", "rdma_core_65",
};

static void check_needs(lua_State *L, int options)
{
	int count = (int)(sizeof(needs) / sizeof(needs[0]));
	const char *nearest;

	if (lua_getfield(L, options, "needs") == LUA_TTABLE) {
		for (int i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
			bool known = false;

			for (int j = 0; j < count && !known; j++)
				known = !strcmp(needs[j], lua_tostring(L, -1));
			if (!known) {
				nearest = srd_nearest(lua_tostring(L, -1), needs, count);
				srd_raise(L,
					  "scenario_options: needs = \"%s\": no such ability%s%s%s",
					  lua_tostring(L, -1), nearest ? "; did you mean \"" : "",
					  nearest ? nearest : "", nearest ? "\"?" : "");
			}
			lua_pop(L, 1);
		}
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

static void check_violates(lua_State *L, int options)
{
	const char *names[256], *name, *nearest;
	int count = srd_num_rules < 256 ? srd_num_rules : 256;

	if (lua_getfield(L, options, "violates") == LUA_TSTRING) {
		name = lua_tostring(L, -1);
		for (int i = 0; i < count; i++)
			names[i] = srd_rule_infos[i].id;
		nearest = srd_nearest(name, names, count);
		if (srd_rule_find(name) < 0)
			srd_raise(L, "scenario_options: violates = \"%s\": no such rule%s%s%s",
				  name, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
				  nearest ? "\"?" : "");
	}
	lua_pop(L, 1);
}

/* A bug is shown in two forms: the broken one says what flags it, the right one passes. */
static void check_bug(lua_State *L, int options)
{
	bool flagged = lua_getfield(L, options, "violates") != LUA_TNIL;
	bool bug = lua_getfield(L, options, "bug") != LUA_TNIL;
	const char *form = NULL;

	flagged |= lua_getfield(L, options, "fails") != LUA_TNIL;
	if (lua_getfield(L, options, "form") != LUA_TNIL)
		form = lua_tostring(L, -1);
	if (bug != !!form)
		srd_raise(L, "scenario_options: bug and form go together");
	if (form && strcmp(form, "broken") && strcmp(form, "right"))
		srd_raise(L, "scenario_options: form = \"%s\": it is broken or right", form);
	if (form && flagged != !strcmp(form, "broken"))
		srd_raise(L,
			  flagged ? "scenario_options: the right form of a bug violates and "
				    "fails nothing"
				  : "scenario_options: the broken form of a bug says in violates "
				    "or fails what flags it");
	lua_pop(L, 4);
}

static void check_orders(lua_State *L, int options)
{
	bool all = lua_getfield(L, options, "orders") != LUA_TNIL;

	if (all && strcmp(lua_tostring(L, -1), "all"))
		srd_raise(L, "scenario_options: orders = \"%s\": \"all\" is what there is",
			  lua_tostring(L, -1));
	if (lua_getfield(L, options, "orders_max") != LUA_TNIL && !all)
		srd_raise(L, "scenario_options: orders_max says how many of orders = \"all\" are "
			     "run");
	lua_pop(L, 2);
}

/* The names that src/verbs/limit_table.h takes. */
static const char *const limit_names[] = {
	"max_qp",
	"max_cq",
	"max_cqe",
	"max_mr",
	"max_mr_size",
	"max_pd",
	"max_ah",
	"max_sge_rd",
	"max_sq_wr",
	"max_rq_wr",
	"max_sq_sge",
	"max_rq_sge",
	"max_send_wr",
	"max_recv_wr",
	"max_rdma_size",
	"inline_buf_size",
	"inline_buf_size_ex",
};

#define NUM_LIMIT_NAMES ((int)(sizeof(limit_names) / sizeof(limit_names[0])))

_Static_assert(NUM_LIMIT_NAMES <= SRD_MAX_LIMITS, "room for every limit");

static void refuse_limit(lua_State *L, const char *name)
{
	const char *nearest = srd_nearest(name, limit_names, NUM_LIMIT_NAMES);

	srd_raise(L, "limits: unknown field \"%s\"%s%s%s", name, nearest ? "; did you mean \"" : "",
		  nearest ? nearest : "", nearest ? "\"?" : "");
}

void srd_script_limits(lua_State *L, int index, struct srd_scenario_options *options)
{
	int given = 0;

	options->num_limits = 0;
	if (lua_getfield(L, index, "limits") == LUA_TNIL) {
		lua_pop(L, 1);
		return;
	}
	for (int i = 0; i < NUM_LIMIT_NAMES; i++) {
		if (lua_getfield(L, -1, limit_names[i]) != LUA_TNIL) {
			const char *what = lua_pushfstring(L, "limits: %s", limit_names[i]);

			options->limits[options->num_limits++] =
				(struct srd_limit){limit_names[i], srd_check_size(L, -2, what)};
			lua_pop(L, 1);
		}
		lua_pop(L, 1);
	}
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
		given++;
	if (given == options->num_limits) {
		lua_pop(L, 1);
		return;
	}
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		bool known = false;

		for (int i = 0; i < NUM_LIMIT_NAMES && !known; i++)
			known = lua_type(L, -2) == LUA_TSTRING &&
				!strcmp(limit_names[i], lua_tostring(L, -2));
		if (!known)
			refuse_limit(L, lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "1");
	}
}

/* A profile is the name of a built-in one, or a table of what differs from "base". */
static void check_profile(lua_State *L, int options)
{
	struct srd_profile *profile;

	switch (lua_getfield(L, options, "profile")) {
	case LUA_TNIL:
		break;
	default:
		profile = lua_newuserdatauv(L, sizeof(*profile), 0);
		srd_script_profile(L, -2, srd_profile_find("efa1"), profile);
		lua_pop(L, 1);
		break;
	}
	lua_pop(L, 1);
}

void srd_script_profile(lua_State *L, int index, const struct srd_profile *otherwise,
			struct srd_profile *out)
{
	const struct srd_profile *base = otherwise;
	const char *name = NULL;
	int top = lua_gettop(L);

	index = lua_absindex(L, index);
	if (lua_type(L, index) == LUA_TSTRING)
		name = lua_tostring(L, index);
	else if (lua_istable(L, index) && lua_getfield(L, index, "base") == LUA_TSTRING)
		name = lua_tostring(L, -1);
	if (name)
		base = srd_profile_find(name);
	if (!base)
		srd_raise(L,
			  "scenario_options: profile = \"%s\": no such profile; there "
			  "are " SRD_PROFILE_NAMES,
			  name);
	*out = *base;
	if (lua_type(L, index) != LUA_TSTRING)
		srd_marshal_from(L, index, &srd_struct_profile, out);
	lua_settop(L, top);
}

/* A name stands in one line of every report. */
static void check_name(lua_State *L, int index)
{
	size_t length;
	const char *name = lua_tolstring(L, index, &length);

	if (!length)
		srd_raise(L, "srd.scenario: the name is empty");
	for (size_t i = 0; i < length; i++)
		if (iscntrl((unsigned char)name[i]))
			srd_raise(L,
				  "srd.scenario: the name has a control character at %d: it is "
				  "one line of text",
				  (int)i + 1);
}

/* core.outside(name): what NAME declares is declared while the script is loaded. */
static int outside(lua_State *L)
{
	const struct srd_lua *lua = srd_lua_of(L);

	if (lua->run && lua->run->current)
		srd_raise(L, "%s: not inside a scenario", luaL_checkstring(L, 1));
	return 0;
}

/* core.other(name): the script asks for NAME, which scripts over a program have. Raises. */
static int other(lua_State *L)
{
	srd_lua_of(L)->is_other = true;
	srd_raise(L, "%s: this is a script for srdlab exec --script, not one of scenarios",
		  luaL_checkstring(L, 1));
}

static int scenario(lua_State *L)
{
	struct srd_lua *lua = srd_lua_of(L);
	struct srd_scenario_options *options;
	int line;

	/* Of a file that is run for one scenario the others were looked at when it was loaded. */
	if (lua->wanted && lua->wanted != lua->num_scenarios + 1) {
		lua->num_scenarios++;
		return 0;
	}
	lua->num_refused++; /* until it is through */
	line = srd_lua_line(L);
	if (lua_type(L, 1) != LUA_TSTRING)
		srd_raise(L, "srd.scenario: the first argument is the scenario's name, a string");
	check_name(L, 1);
	if (lua_isfunction(L, 2)) { /* no options */
		lua_newtable(L);
		lua_insert(L, 2);
	}
	if (!lua_istable(L, 2) || !lua_isfunction(L, 3))
		srd_raise(L, "srd.scenario: the arguments are a name, a table of options, and a "
			     "function");
	lua_settop(L, 3);
	options = lua_newuserdatauv(L, sizeof(*options), 0);
	srd_marshal_from(L, 2, &srd_struct_scenario_options, options);
	srd_script_limits(L, 2, options);
	check_needs(L, 2);
	check_violates(L, 2);
	check_bug(L, 2);
	check_orders(L, 2);
	check_profile(L, 2);
	lua_settop(L, 3);
	lua_createtable(L, 4, 0);
	for (int i = 1; i <= 3; i++) {
		lua_pushvalue(L, i);
		lua_rawseti(L, -2, i);
	}
	lua_pushinteger(L, line);
	lua_rawseti(L, -2, 4);
	lua_rawgeti(L, LUA_REGISTRYINDEX, SRD_KEY_SCENARIOS);
	lua_insert(L, -2);
	lua_rawseti(L, -2, ++lua->num_scenarios);
	lua->num_refused--;
	return 0;
}

void srd_script_push(lua_State *L, int index)
{
	lua_rawgeti(L, LUA_REGISTRYINDEX, SRD_KEY_SCENARIOS);
	lua_rawgeti(L, -1, index + 1);
	lua_remove(L, -2);
}

/* ---- the libraries ---- */

/* Call the library LIB with core, which is on top; what it gives is then over it. */
static void open_lib(lua_State *L, const struct srd_lua_chunk *lib, int num_results)
{
	const char *name = lua_pushfstring(L, "=srdlab/%s.lua", lib->name);

	if (luaL_loadbufferx(L, lib->text, lib->size, name, NULL) != LUA_OK)
		lua_error(L);
	lua_remove(L, -2);
	lua_pushvalue(L, -2);
	lua_call(L, 1, num_results);
}

void srd_script_open(lua_State *L, const struct srd_script *script)
{
	const struct srd_lua_chunk *lib = script->num_lib ? script->lib : srd_lua_lib;
	bool steers = srd_lua_of(L)->steer;

	lua_newtable(L);
	lua_rawseti(L, LUA_REGISTRYINDEX, SRD_KEY_SCENARIOS);
	lua_newtable(L); /* core: what C offers to scripts/lib */
	lua_pushcfunction(L, scenario);
	lua_setfield(L, -2, "scenario");
	lua_pushcfunction(L, outside);
	lua_setfield(L, -2, "outside");
	lua_pushcfunction(L, other);
	lua_setfield(L, -2, "other");
	srd_bind_core(L);
	if (steers)
		srd_steer_bind(L);
	for (int i = 0; i < srd_num_lua_lib; i++) {
		open_lib(L, &lib[i], 1);
		lua_setfield(L, -2, lib[i].name);
	}
	if (steers) {
		open_lib(L, &lib[srd_num_lua_lib], 2);
		srd_steer_keep(L);
	}
	lua_pop(L, 1);
	if (luaL_loadbufferx(L, script->code, script->code_size, script->chunk_name, NULL))
		lua_error(L);
	lua_gc(L, LUA_GCRESTART);
}

struct writer {
	char *data;
	size_t size;
	size_t capacity;
};

static int write_code(lua_State *L, const void *data, size_t size, void *arg)
{
	struct writer *w = arg;

	if (w->size + size > w->capacity) {
		size_t capacity = (w->size + size) * 2;
		char *moved = srd_realloc(w->data, capacity);

		if (!moved)
			return 1;
		w->data = moved;
		w->capacity = capacity;
	}
	memcpy(w->data + w->size, data, size);
	w->size += size;
	return 0;
}

/*
 * The byte code of TEXT in *OUT, with its lines or without; -ENOMEM, or -EINVAL with the
 * message on top of L.
 */
static int compile(lua_State *L, const char *text, size_t size, const char *name, bool lines,
		   struct writer *out)
{
	int status = luaL_loadbufferx(L, text, size, name, "t");

	memset(out, 0, sizeof(*out));
	if (status != LUA_OK)
		return status == LUA_ERRMEM ? -ENOMEM : -EINVAL;
	if (lua_dump(L, write_code, out, !lines)) {
		srd_free(out->data);
		return -ENOMEM;
	}
	lua_pop(L, 1);
	return 0;
}

int srd_script_call(lua_State *L, int num_args, lua_State **co)
{
	int n, status;

	*co = lua_newthread(L);
	lua_insert(L, -2 - num_args);
	lua_xmove(L, *co, num_args + 1);
	status = srd_lua_resume(*co, L, num_args, &n);
	if (status == LUA_YIELD) {
		lua_pushliteral(*co, "coroutine.yield outside of a scenario");
		status = LUA_ERRRUN;
	}
	return status;
}

/* "chunks.lua:12: text" -> 12 and text; 0 where the text has no such beginning. */
static int split_position(const char *name, const char **text)
{
	size_t length = strlen(name);
	char *end;
	long line;

	if (strncmp(*text, name, length) || (*text)[length] != ':')
		return 0;
	line = strtol(*text + length + 1, &end, 10);
	if (end == *text + length + 1 || end[0] != ':' || end[1] != ' ')
		return 0;
	*text = end + 2;
	return (int)line;
}

/* The text of an error value; nil where it has none. */
static int to_text(lua_State *L)
{
	if (lua_isstring(L, 1) || luaL_getmetafield(L, 1, "__tostring") != LUA_TNIL)
		srd_tostring(L, 1);
	if (lua_type(L, -1) == LUA_TSTRING)
		srd_show_zeros(L);
	return 1;
}

/* What the value on top of CO says as an error; *room is where it may be written. */
static const char *error_text(lua_State *co, char *room, size_t size)
{
	lua_State *L = srd_lua_of(co)->L;
	const char *kind = luaL_typename(co, -1);
	bool failed = true;

	if (lua_type(co, -1) == LUA_TSTRING && strlen(lua_tostring(co, -1)) == lua_rawlen(co, -1))
		return lua_tostring(co, -1);
	if (lua_checkstack(L, 2)) {
		lua_pushcfunction(L, to_text);
		lua_xmove(co, L, 1);
		failed = lua_pcall(L, 1, 1, 0) != LUA_OK;
		if (!failed && lua_isstring(L, -1))
			return lua_tostring(L, -1);
	}
	if (!strcmp(kind, "nil"))
		snprintf(room, size, "error was called without a message");
	else
		snprintf(room, size, "error was called with a %s %s", kind,
			 failed ? "whose __tostring fails" : "that has no text");
	return room;
}

/* Lua's own words do not tell who a script would know. */
static const char no_yield[] = "attempt to yield across a C-call boundary";

void srd_script_explain(lua_State *co, int status, const struct srd_script *script,
			struct srd_place *out)
{
	static const char no_place[] = "?:-1: "; /* of libraries, which have no lines */
	struct srd_lua *lua = srd_lua_of(co);
	const char *text;
	char room[80];

	out->line = 0;
	if (status == LUA_ERRMEM) {
		out->line = srd_lua_error_line(co);
		srd_units_format(SRD_UNIT_SIZE, lua->limit, room, sizeof(room));
		snprintf(out->text, sizeof(out->text), "out of memory: the script may take %s%s",
			 room, lua->steer ? "" : " (--memory)");
		return;
	}
	text = error_text(co, room, sizeof(room));
	if (!strncmp(text, no_place, strlen(no_place)))
		text += strlen(no_place);
	out->line = split_position(script->chunk_name + 1, &text);
	if (!out->line)
		out->line = srd_lua_error_line(co);
	if (!strcmp(text, no_yield))
		text = "a wait, or coroutine.yield, in a function that Lua's own library called: "
		       "in __tostring, or in one that was given to string.gsub";
	snprintf(out->text, sizeof(out->text), "%s", text);
	srd_plain_nan(out->text);
	srd_lua_callers(co, out->text, sizeof(out->text));
}

/* ---- loading ---- */

/* Load and compile the N-th library: from PATH where one is given, else as built in. */
static int load_lib(lua_State *L, struct srd_script *script, int n, const char *path,
		    struct srd_error *error)
{
	const struct srd_lua_chunk *built = &srd_lua_lib[n];
	char name[300], *text = NULL;
	size_t size = built->size;
	struct writer code;
	int ret;

	if (path) {
		snprintf(name, sizeof(name), "%s/%s.lua", path, built->name);
		ret = srd_file_read(name, MAX_SCRIPT_SIZE, &text, &size, error);
		if (ret)
			return ret;
	}
	snprintf(name, sizeof(name), "=srdlab/%s.lua", built->name);
	ret = compile(L, text ? text : built->text, size, name, false, &code);
	srd_free(text);
	if (ret == -EINVAL)
		return srd_error_set(error, ret, "%s", lua_tostring(L, -1));
	if (ret)
		return srd_error_set(error, ret, "out of memory");
	script->lib[n] = (struct srd_lua_chunk){built->name, code.data, code.size};
	script->num_lib++;
	return 0;
}

/* The text after a first line that begins with # (a shell's), or a byte order mark. */
static const char *skip_first(const char *text, size_t *size)
{
	const char *from = text, *end = text + *size;

	if (*size >= 3 && !memcmp(from, "\xef\xbb\xbf", 3))
		from += 3;
	if (from < end && *from == '#') {
		from = memchr(from, '\n', (size_t)(end - from));
		from = from ? from : end;
	}
	*size = (size_t)(end - from);
	return from;
}

static int compile_script(lua_State *L, struct srd_script *script, const char *text, size_t size,
			  struct srd_error *error)
{
	struct writer code;
	const char *from = skip_first(text, &size), *message;
	int ret = compile(L, from, size, script->chunk_name, true, &code);

	if (ret == -EINVAL) {
		message = lua_tostring(L, -1);
		ret = split_position(script->chunk_name + 1, &message);
		return srd_error_set(error, -EINVAL, "%s:%d: %s", script->path, ret, message);
	}
	if (ret)
		return srd_error_set(error, ret, "%s: out of memory", script->path);
	script->code = code.data;
	script->code_size = code.size;
	return 0;
}

/* Copy the strings of the table on top of the stack; -ENOMEM. */
static int copy_strings(lua_State *L, const char *const **out)
{
	int n = lua_istable(L, -1) ? (int)lua_rawlen(L, -1) : 0, ret = 0;
	const char **list = srd_calloc((size_t)n + 2, sizeof(*list));

	*out = list;
	if (!list)
		return -ENOMEM;
	for (int i = 0; i < n && !ret; i++) {
		lua_rawgeti(L, -1, i + 1);
		list[i] = srd_strdup(lua_tostring(L, -1));
		ret = list[i] ? 0 : -ENOMEM;
		lua_pop(L, 1);
	}
	return ret;
}

static int copy_string(lua_State *L, const char *otherwise, const char **out)
{
	const char *text = lua_isstring(L, -1) ? lua_tostring(L, -1) : otherwise;

	*out = text ? srd_strdup(text) : NULL;
	return text && !*out ? -ENOMEM : 0;
}

/* A scenario that varies with the seed has the tag "seeds". */
static int add_seeds_tag(lua_State *L, struct srd_scenario_info *info)
{
	const char **list = (const char **)info->tags;

	if (!lua_toboolean(L, -1))
		return 0;
	while (*list)
		list++;
	*list = srd_strdup("seeds"); /* copy_strings left room for one more */
	return *list ? 0 : -ENOMEM;
}

/* The table of srd_script_push is on top of the stack. A raise leaves INFO as far as it got. */
static int copy_info(lua_State *L, struct srd_scenario_info *info)
{
	int ret;

	lua_rawgeti(L, -1, 4);
	info->line = (int)lua_tointeger(L, -1);
	lua_pop(L, 1);
	lua_rawgeti(L, -1, 1);
	ret = copy_string(L, "", &info->name);
	lua_pop(L, 1);
	lua_rawgeti(L, -1, 2);
	lua_getfield(L, -1, "description");
	ret = ret ? ret : copy_string(L, "", &info->description);
	lua_getfield(L, -2, "violates");
	ret = ret ? ret : copy_string(L, NULL, &info->violates);
	lua_getfield(L, -3, "needs");
	ret = ret ? ret : copy_strings(L, &info->needs);
	lua_getfield(L, -4, "tags");
	ret = ret ? ret : copy_strings(L, &info->tags);
	lua_getfield(L, -5, "seeds");
	ret = ret ? ret : add_seeds_tag(L, info);
	lua_getfield(L, -6, "fails");
	ret = ret ? ret : copy_string(L, NULL, &info->fails);
	lua_getfield(L, -7, "bug");
	ret = ret ? ret : copy_string(L, NULL, &info->bug);
	lua_getfield(L, -8, "form");
	info->is_broken = lua_isstring(L, -1) && !strcmp(lua_tostring(L, -1), "broken");
	lua_getfield(L, -9, "orders");
	info->all_orders = !lua_isnil(L, -1);
	lua_getfield(L, -10, "orders_max");
	info->orders_max = (uint32_t)lua_tointeger(L, -1);
	lua_pop(L, 11);
	return ret;
}

/* Returns true to Lua, or false where there is no memory. */
static int copy_infos(lua_State *L)
{
	struct srd_script *script = lua_touserdata(L, 1);
	int n = (int)srd_lua_of(L)->num_scenarios, ret = 0;

	script->infos = srd_calloc((size_t)n + 1, sizeof(*script->infos));
	if (!script->infos)
		ret = -ENOMEM;
	for (int i = 0; i < n && !ret; i++) {
		srd_script_push(L, i);
		script->count++;
		ret = copy_info(L, &script->infos[i]);
		lua_pop(L, 1);
	}
	lua_pushboolean(L, !ret);
	return 1;
}

static int open_script(lua_State *L)
{
	srd_script_open(L, lua_touserdata(L, 1));
	return 1;
}

/* Two scenarios of one name could not be told apart by --filter or in a report. */
static int check_names(const struct srd_script *script, struct srd_error *error)
{
	for (int i = 0; i < script->count; i++)
		for (int j = 0; j < i; j++)
			if (!strcmp(script->infos[i].name, script->infos[j].name))
				return srd_error_set(error, -EEXIST,
						     "%s:%d: a second scenario named \"%s\"; the "
						     "first is at line %d",
						     script->path, script->infos[i].line,
						     script->infos[i].name, script->infos[j].line);
	return 0;
}

static int collect(struct srd_lua *lua, struct srd_script *script, struct srd_error *error)
{
	lua_State *L = lua->L, *co = L;
	struct srd_place place;
	int status;

	lua_pushcfunction(L, open_script);
	lua_pushlightuserdata(L, script);
	status = lua_pcall(L, 1, 1, 0);
	if (status == LUA_OK)
		status = srd_script_call(L, 0, &co);
	if (status == LUA_OK) {
		lua_pushcfunction(L, copy_infos);
		lua_pushlightuserdata(L, script);
		co = L;
		status = lua_pcall(L, 1, 1, 0);
	}
	if (status == LUA_OK && !lua_toboolean(L, -1))
		return srd_error_set(error, -ENOMEM, "%s: out of memory", script->path);
	script->all_accepted = !lua->num_refused;
	if (status == LUA_OK)
		return check_names(script, error);
	srd_script_explain(co, status, script, &place);
	return srd_error_set(error, status == LUA_ERRMEM ? -ENOMEM : -EINVAL, "%s:%d: %s",
			     script->path, place.line, place.text);
}

static int name_script(struct srd_script *script, const char *path)
{
	const char *slash = strrchr(path, '/');

	script->path = srd_strdup(path);
	script->chunk_name = srd_asprintf("@%s", slash ? slash + 1 : path);
	script->lib = srd_calloc((size_t)srd_num_lua_lib + 1, sizeof(*script->lib));
	return script->path && script->chunk_name && script->lib ? 0 : -ENOMEM;
}

int srd_script_load(const char *path, const struct srd_sandbox *sandbox, struct srd_script **out,
		    struct srd_error *error)
{
	size_t size;
	char *text;
	int ret = srd_file_read(path, MAX_SCRIPT_SIZE, &text, &size, error);

	*out = NULL;
	if (ret)
		return ret;
	ret = srd_script_load_text(path, text, size, sandbox, out, error);
	srd_free(text);
	return ret;
}

/* TEXT and the libraries, with L; *OUT is to be freed in either case. */
static int compile_all(lua_State *L, const char *path, const char *text, size_t size,
		       const struct srd_sandbox *sandbox, struct srd_script **out,
		       struct srd_error *error)
{
	struct srd_script *script = *out = srd_calloc(1, sizeof(*script));
	int num_lib = srd_num_lua_lib, ret;

	if (!script || name_script(script, path))
		return srd_error_set(error, -ENOMEM, "%s: out of memory", path);
	ret = compile_script(L, script, text, size, error);
	if (srd_lua_of(L)->steer)
		num_lib++;
	for (int i = 0; i < num_lib && !ret; i++)
		ret = load_lib(L, script, i, sandbox->lib_path, error);
	return ret;
}

int srd_script_compile(lua_State *L, const struct srd_steer_options *options,
		       struct srd_script **out, struct srd_error *error)
{
	size_t size = options->length;
	char *text = NULL;
	int ret = 0;

	*out = NULL;
	if (!options->text)
		ret = srd_file_read(options->path, MAX_SCRIPT_SIZE, &text, &size, error);
	if (ret)
		return ret;
	ret = compile_all(L, options->path, text ? text : options->text, size, &options->sandbox,
			  out, error);
	srd_free(text);
	return ret;
}

int srd_script_load_text(const char *path, const char *text, size_t size,
			 const struct srd_sandbox *sandbox, struct srd_script **out,
			 struct srd_error *error)
{
	struct srd_script *script = NULL;
	struct srd_lua lua = {0};
	int ret = srd_lua_open(&lua, sandbox, 0);

	if (ret)
		srd_error_set(error, ret, "%s: out of memory", path);
	else
		ret = compile_all(lua.L, path, text, size, sandbox, &script, error);
	if (ret)
		goto close;
	ret = srd_watchdog_start(&lua, srd_load_limit(sandbox->time_limit));
	if (ret) {
		srd_error_set(error, ret, "%s: no timer: %s", path, strerror(-ret));
		goto close;
	}
	ret = collect(&lua, script, error);
	srd_watchdog_stop(&lua);
	if (ret == -EINVAL && lua.is_other) {
		ret = -ENOEXEC;
		if (error)
			error->code = ret;
	}
close:
	srd_lua_close(&lua);
	if (ret) {
		srd_script_free(script);
		script = NULL;
	}
	*out = script;
	return ret;
}

static void free_strings(const char *const *list)
{
	for (int i = 0; list && list[i]; i++)
		srd_free((void *)list[i]);
	srd_free((void *)list);
}

void srd_script_free(struct srd_script *script)
{
	if (!script)
		return;
	for (int i = 0; i < script->count; i++) {
		const struct srd_scenario_info *info = &script->infos[i];

		srd_free((void *)info->name);
		srd_free((void *)info->description);
		srd_free((void *)info->violates);
		srd_free((void *)info->fails);
		srd_free((void *)info->bug);
		free_strings(info->tags);
		free_strings(info->needs);
	}
	for (int i = 0; i < script->num_lib; i++)
		srd_free((void *)script->lib[i].text);
	srd_free(script->lib);
	srd_free(script->infos);
	srd_free(script->code);
	srd_free(script->chunk_name);
	srd_free(script->path);
	srd_free(script);
}

const char *srd_script_path(const struct srd_script *script)
{
	return script->path;
}

int srd_script_count(const struct srd_script *script)
{
	return script->count;
}

const struct srd_scenario_info *srd_script_scenario(const struct srd_script *script, int index)
{
	return index >= 0 && index < script->count ? &script->infos[index] : NULL;
}
