/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <srdlab/enums.h>

#include "marshal.h"
#include "object.h"
#include "sandbox.h"
#include "verbs/nearest.h"
#include "verbs/units.h"

/* The value at INDEX as a message shows it: a string in quotes, cut where it is long. */
static const char *shown(lua_State *L, int index)
{
	index = lua_absindex(L, index);
	if (lua_isnone(L, index))
		return "nothing";
	if (lua_type(L, index) == LUA_TSTRING)
		return lua_pushfstring(L, "\"%s\"", lua_tostring(L, index));
	return srd_tostring(L, index);
}

static void refuse(lua_State *L, int index, const char *what, const char *expected)
{
	srd_raise(L, "%s = %s: %s", what, shown(L, index), expected);
}

static void refuse_range(lua_State *L, int index, const char *what, uint64_t min, uint64_t max,
			 enum srd_unit_kind unit)
{
	char low[24], high[24];

	srd_units_format(unit, min, low, sizeof(low));
	srd_units_format(unit, max, high, sizeof(high));
	srd_raise(L, "%s = %s is out of range: %s to %s", what, shown(L, index), low, high);
}

/* A whole number; false where it is none. */
static bool whole(lua_State *L, int index, lua_Integer *out)
{
	int is_integer;

	if (lua_type(L, index) != LUA_TNUMBER)
		return false;
	*out = lua_tointegerx(L, index, &is_integer);
	return is_integer;
}

static uint64_t check_number(lua_State *L, int index, const char *what, uint64_t min, uint64_t max)
{
	lua_Integer value;

	if (!whole(L, index, &value))
		refuse(L, index, what, "a whole number is expected");
	if (value < 0 || (uint64_t)value < min || (uint64_t)value > max)
		refuse_range(L, index, what, min, max, SRD_UNIT_NONE);
	return (uint64_t)value;
}

static uint64_t check_units(lua_State *L, int index, const char *what, enum srd_unit_kind unit,
			    uint64_t min, uint64_t max)
{
	bool size = unit == SRD_UNIT_SIZE;
	const char *expected =
		size ? "a size is expected, such as 4096 or \"4KiB\" (units B, KiB, "
		       "MiB, GiB, TiB)"
		     : "a time is expected, such as 500 or \"50us\" (units ns, us, ms, "
		       "s)";
	lua_Integer number;
	uint64_t value = 0;
	int ret = 0;

	if (whole(L, index, &number)) {
		value = (uint64_t)number;
		if (number < 0)
			refuse_range(L, index, what, min, max, unit);
	} else if (lua_type(L, index) == LUA_TSTRING) {
		ret = srd_units_parse(unit, lua_tostring(L, index), &value);
	} else {
		ret = -EINVAL;
	}
	if (ret == -EINVAL)
		refuse(L, index, what, expected);
	if (ret || value < min || value > max)
		refuse_range(L, index, what, min, max, unit);
	return value;
}

uint64_t srd_check_size(lua_State *L, int index, const char *what)
{
	return check_units(L, index, what, SRD_UNIT_SIZE, 0, INT64_MAX);
}

uint64_t srd_check_time(lua_State *L, int index, const char *what)
{
	return check_units(L, index, what, SRD_UNIT_TIME, 0, SRD_MAX_TIME);
}

uint64_t srd_check_uint(lua_State *L, int index, const char *what, uint64_t max)
{
	return check_number(L, index, what, 0, max);
}

static bool find_name(const struct srd_names *names, const char *text, uint32_t *value)
{
	size_t prefix = strlen(names->prefix);

	for (int i = 0; i < names->count; i++) {
		if (strcmp(names->names[i], text) && strcmp(names->names[i] + prefix, text))
			continue;
		*value = names->values ? names->values[i] : (uint32_t)i;
		return true;
	}
	return false;
}

/* Raise: TEXT is none of NAMES. Says which is near, or all where they are few. */
static void refuse_name(lua_State *L, const char *what, const char *text,
			const struct srd_names *names)
{
	const char *bare[64], *nearest;
	size_t prefix = strlen(names->prefix);
	luaL_Buffer list;

	for (int i = 0; i < names->count && i < 64; i++)
		bare[i] = names->names[i] + prefix;
	nearest = srd_nearest(strncmp(text, names->prefix, prefix) ? text : text + prefix, bare,
			      names->count < 64 ? names->count : 64);
	if (nearest)
		srd_raise(L, "%s = \"%s\": no such value; did you mean \"%s\"?", what, text,
			  nearest);
	luaL_buffinit(L, &list);
	for (int i = 0; i < names->count; i++) {
		luaL_addstring(&list, i ? ", " : "");
		luaL_addstring(&list, names->names[i] + prefix);
	}
	luaL_pushresult(&list);
	srd_raise(L, "%s = \"%s\": no such value; there are %s", what, text, lua_tostring(L, -1));
}

uint32_t srd_check_enum(lua_State *L, int index, const char *what, const struct srd_names *names)
{
	uint32_t value = 0;

	if (lua_type(L, index) == LUA_TNUMBER)
		return (uint32_t)check_number(L, index, what, 0, UINT32_MAX);
	if (lua_type(L, index) != LUA_TSTRING)
		refuse(L, index, what, "a name is expected");
	if (!find_name(names, lua_tostring(L, index), &value))
		refuse_name(L, what, lua_tostring(L, index), names);
	return value;
}

/* The EFA status at INDEX by a name of libibverbs, where it is that of one alone. Raises. */
static uint32_t by_wc_status(lua_State *L, int index, const char *what)
{
	const char *text = lua_tostring(L, index);
	int wc = srd_wc_status_parse(text), found = 0;
	uint32_t status = 0;
	luaL_Buffer list;

	luaL_buffinit(L, &list);
	for (int i = 0; i < SRD_NUM_EFA_STATUS; i++) {
		if ((int)srd_efa_status_to_wc(srd_efa_status_values[i]) != wc)
			continue;
		status = srd_efa_status_values[i];
		luaL_addstring(&list, found++ ? ", " : "");
		luaL_addstring(&list,
			       srd_efa_status_names[i] + strlen(srd_names_efa_status.prefix));
	}
	luaL_pushresult(&list);
	if (!found)
		srd_raise(L,
			  "%s = \"%s\": a status of the device is expected, and none becomes this "
			  "one; srdlab explain lists them",
			  what, text);
	if (found > 1)
		srd_raise(L,
			  "%s = \"%s\": a status of the device is expected; those that become this "
			  "one are %s",
			  what, text, lua_tostring(L, -1));
	lua_pop(L, 1);
	return status;
}

uint32_t srd_check_failure(lua_State *L, int index, const char *what)
{
	static const char wc_prefix[] = "IBV_WC_";
	uint32_t status;

	if (lua_type(L, index) == LUA_TSTRING &&
	    !strncmp(lua_tostring(L, index), wc_prefix, strlen(wc_prefix)))
		status = by_wc_status(L, index, what);
	else if (lua_type(L, index) == LUA_TNUMBER)
		status = (uint32_t)check_number(L, index, what, 1, UINT8_MAX);
	else
		status = srd_check_enum(L, index, what, &srd_names_efa_status);
	if (!status)
		refuse(L, index, what, "what fails has another status than this one");
	return status;
}

/* A number, one name, names with | between, or a list of names. */
uint32_t srd_check_flags(lua_State *L, int index, const char *what, const struct srd_names *names)
{
	uint32_t bits = 0, bit = 0;
	char word[64];

	index = lua_absindex(L, index);
	if (lua_type(L, index) == LUA_TNUMBER)
		return (uint32_t)check_number(L, index, what, 0, UINT32_MAX);
	if (lua_istable(L, index)) {
		for (int i = 1; lua_rawgeti(L, index, i) != LUA_TNIL; i++) {
			bits |= srd_check_enum(L, -1, what, names);
			lua_pop(L, 1);
		}
		lua_pop(L, 1);
		return bits;
	}
	if (lua_type(L, index) != LUA_TSTRING)
		refuse(L, index, what, "a name, names with | between, or a list is expected");
	for (const char *at = lua_tostring(L, index); *at;) {
		size_t skip = strspn(at, " |"), length = strcspn(at + skip, " |");

		at += skip;
		if (!length)
			break;
		snprintf(word, sizeof(word), "%.*s", (int)length, at);
		if (!find_name(names, word, &bit))
			refuse_name(L, what, word, names);
		bits |= bit;
		at += length;
	}
	return bits;
}

static void store(void *to, uint16_t size, uint64_t value)
{
	switch (size) {
	case 1:
		*(uint8_t *)to = (uint8_t)value;
		break;
	case 2:
		*(uint16_t *)to = (uint16_t)value;
		break;
	case 4:
		*(uint32_t *)to = (uint32_t)value;
		break;
	default:
		*(uint64_t *)to = value;
		break;
	}
}

static uint64_t load(const void *from, uint16_t size)
{
	switch (size) {
	case 1:
		return *(const uint8_t *)from;
	case 2:
		return *(const uint16_t *)from;
	case 4:
		return *(const uint32_t *)from;
	default:
		return *(const uint64_t *)from;
	}
}

static void read_gid(lua_State *L, const char *what, void *to)
{
	if (lua_type(L, -1) != LUA_TSTRING || inet_pton(AF_INET6, lua_tostring(L, -1), to) != 1)
		refuse(L, -1, what, "a GID is expected, such as \"fe80::1\"");
}

static void check_strings(lua_State *L, const char *what)
{
	if (!lua_istable(L, -1))
		refuse(L, -1, what, "a list of strings is expected");
	for (int i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
		if (lua_type(L, -1) != LUA_TSTRING)
			refuse(L, -1, what, "a list of strings is expected");
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

/* The value on top of the stack is that of FIELD; TO: where it lies. */
static void read_field(lua_State *L, const struct srd_struct *type, const struct srd_field *field,
		       void *to)
{
	const char *what = lua_pushfstring(L, "%s: %s", type->name, field->name);
	lua_Integer integer = 0;

	lua_insert(L, -2);
	switch (field->type) {
	case SRD_VALUE_UINT:
		store(to, field->size, check_number(L, -1, what, field->min, field->max));
		break;
	case SRD_VALUE_INT:
		if (!whole(L, -1, &integer) || integer < INT32_MIN || integer > INT32_MAX)
			refuse(L, -1, what, "a whole number of 32 bits is expected");
		*(int32_t *)to = (int32_t)integer;
		break;
	case SRD_VALUE_BOOL:
		if (!lua_isboolean(L, -1))
			refuse(L, -1, what, "true or false is expected");
		*(bool *)to = lua_toboolean(L, -1);
		break;
	case SRD_VALUE_SIZE:
		store(to, field->size,
		      check_units(L, -1, what, SRD_UNIT_SIZE, field->min, field->max));
		break;
	case SRD_VALUE_TIME:
		store(to, field->size,
		      check_units(L, -1, what, SRD_UNIT_TIME, field->min, field->max));
		break;
	case SRD_VALUE_ADDR:
		if (!whole(L, -1, &integer))
			refuse(L, -1, what, "a whole number is expected");
		store(to, field->size, (uint64_t)integer);
		break;
	case SRD_VALUE_BE32:
		*(uint32_t *)to = htonl((uint32_t)check_number(L, -1, what, 0, UINT32_MAX));
		break;
	case SRD_VALUE_GID:
		read_gid(L, what, to);
		break;
	case SRD_VALUE_ENUM:
		store(to, field->size, srd_check_enum(L, -1, what, field->names));
		break;
	case SRD_VALUE_FLAGS:
		store(to, field->size, srd_check_flags(L, -1, what, field->names));
		break;
	case SRD_VALUE_STRUCT:
		if (!lua_istable(L, -1))
			refuse(L, -1, what, "a table is expected");
		srd_marshal_from(L, -1, field->nested, to);
		break;
	case SRD_VALUE_OBJECT: {
		struct srd_object *object =
			srd_object_check(L, -1, (enum srd_object_type)field->kind);

		*(void **)to = object->verbs;
		break;
	}
	case SRD_VALUE_STRING:
		if (lua_type(L, -1) != LUA_TSTRING)
			refuse(L, -1, what, "a string is expected");
		break;
	case SRD_VALUE_STRINGS:
		check_strings(L, what);
		break;
	case SRD_VALUE_TABLE:
		if (!lua_istable(L, -1))
			refuse(L, -1, what, "a table is expected");
		break;
	case SRD_VALUE_ANY:
		break;
	}
	lua_remove(L, -2);
}

/* Raise: the table at INDEX has more fields than were found. Name the first by order. */
static void refuse_unknown(lua_State *L, int index, const struct srd_struct *type)
{
	const char *names[128], *unknown = NULL, *nearest;
	int count = 0;

	for (int i = 0; i < type->count && count < 128; i++)
		if (type->fields[i].in)
			names[count++] = type->fields[i].name;
	for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
		const char *key;
		bool known = false;

		if (lua_type(L, -2) != LUA_TSTRING)
			srd_raise(L, "%s: a field must have a name, not the key %s", type->name,
				  shown(L, -2));
		key = lua_tostring(L, -2);
		for (int i = 0; i < count && !known; i++)
			known = !strcmp(names[i], key);
		if (!known && (!unknown || strcmp(key, unknown) < 0))
			unknown = key;
	}
	nearest = srd_nearest(unknown, names, count);
	if (nearest)
		srd_raise(L, "%s: unknown field \"%s\"; did you mean \"%s\"?", type->name, unknown,
			  nearest);
	srd_raise(L, "%s: unknown field \"%s\"", type->name, unknown);
}

static int num_fields(lua_State *L, int index)
{
	int n = 0;

	for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1))
		n++;
	return n;
}

uint32_t srd_marshal_from(lua_State *L, int index, const struct srd_struct *type, void *out)
{
	uint32_t mask = 0;
	int found = 0;

	luaL_checkstack(L, 8, NULL);
	index = lua_absindex(L, index);
	if (!lua_istable(L, index))
		srd_raise(L, "%s: a table of fields is expected, not %s", type->name,
			  luaL_typename(L, index));
	for (int i = 0; i < type->count; i++) {
		const struct srd_field *field = &type->fields[i];

		if (!field->in)
			continue;
		lua_pushstring(L, field->name);
		if (lua_rawget(L, index) != LUA_TNIL) {
			read_field(L, type, field, (char *)out + field->offset);
			mask |= field->mask;
			found++;
		}
		lua_pop(L, 1);
	}
	if (found < num_fields(L, index))
		refuse_unknown(L, index, type);
	return mask;
}

void srd_push_enum(lua_State *L, const struct srd_names *names, uint32_t value)
{
	for (int i = 0; i < names->count; i++) {
		if ((names->values ? names->values[i] : (uint32_t)i) != value)
			continue;
		lua_pushstring(L, names->names[i] + (names->is_short ? strlen(names->prefix) : 0));
		return;
	}
	lua_pushinteger(L, value);
}

/* A list of the names of the bits that are set; bits without a name come as one number. */
static void push_flags(lua_State *L, const struct srd_names *names, uint64_t bits)
{
	int n = 0;

	lua_newtable(L);
	for (int i = 0; i < names->count; i++) {
		if (!(bits & names->values[i]))
			continue;
		bits &= ~(uint64_t)names->values[i];
		lua_pushstring(L, names->names[i]);
		lua_rawseti(L, -2, ++n);
	}
	if (bits) {
		lua_pushinteger(L, (lua_Integer)bits);
		lua_rawseti(L, -2, ++n);
	}
}

static void push_field(lua_State *L, const struct srd_field *field, const void *from)
{
	char text[INET6_ADDRSTRLEN];

	switch (field->type) {
	case SRD_VALUE_UINT:
	case SRD_VALUE_SIZE:
	case SRD_VALUE_TIME:
	case SRD_VALUE_ADDR:
		lua_pushinteger(L, (lua_Integer)load(from, field->size));
		break;
	case SRD_VALUE_INT:
		lua_pushinteger(L, *(const int32_t *)from);
		break;
	case SRD_VALUE_BOOL:
		lua_pushboolean(L, *(const bool *)from);
		break;
	case SRD_VALUE_BE32:
		lua_pushinteger(L, ntohl(*(const uint32_t *)from));
		break;
	case SRD_VALUE_GID:
		lua_pushstring(L, inet_ntop(AF_INET6, from, text, sizeof(text)));
		break;
	case SRD_VALUE_ENUM:
		srd_push_enum(L, field->names, (uint32_t)load(from, field->size));
		break;
	case SRD_VALUE_FLAGS:
		push_flags(L, field->names, load(from, field->size));
		break;
	case SRD_VALUE_STRUCT:
		srd_marshal_to(L, field->nested, from);
		break;
	case SRD_VALUE_OBJECT:
	case SRD_VALUE_STRING:
	case SRD_VALUE_STRINGS:
	case SRD_VALUE_TABLE:
	case SRD_VALUE_ANY:
		lua_pushnil(L);
		break;
	}
}

void srd_marshal_to(lua_State *L, const struct srd_struct *type, const void *in)
{
	luaL_checkstack(L, 4, NULL);
	lua_createtable(L, 0, type->count);
	for (int i = 0; i < type->count; i++) {
		const struct srd_field *field = &type->fields[i];

		if (!field->out)
			continue;
		push_field(L, field, (const char *)in + field->offset);
		lua_setfield(L, -2, field->name);
	}
}
