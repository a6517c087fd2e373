/* SPDX-License-Identifier: MIT */
/* A profile as a profile file holds it. */
#include "cli/profile_json.h"
#include "verbs/profile.h"

static json_t *value(const struct srd_profile *profile, const struct srd_profile_field *field)
{
	char text[SRD_PROFILE_TEXT];

	switch (field->type) {
	case SRD_PROFILE_TYPE_BOOL:
		return json_boolean(srd_profile_get(profile, field));
	case SRD_PROFILE_TYPE_U16:
	case SRD_PROFILE_TYPE_U32:
	case SRD_PROFILE_TYPE_U64:
	case SRD_PROFILE_TYPE_PPM:
		return json_integer((json_int_t)srd_profile_get(profile, field));
	case SRD_PROFILE_TYPE_SIZE:
	case SRD_PROFILE_TYPE_TIME:
	case SRD_PROFILE_TYPE_CHOICE:
		break;
	}
	return json_string(srd_profile_format(profile, field, text));
}

json_t *srd_cli_profile_json(const struct srd_profile *profile)
{
	json_t *object = json_pack("{s:s, s:s}", "name", profile->name, "base", profile->base);

	for (int i = 0; object && i < SRD_NUM_PROFILE_FIELDS; i++) {
		const struct srd_profile_field *field = &srd_profile_fields[i];

		if (!json_object_set_new(object, field->name, value(profile, field)))
			continue;
		json_decref(object);
		object = NULL;
	}
	return object;
}
