/* SPDX-License-Identifier: MIT */
/* srdlab explain: what a completion status means. */
#include <stdio.h>
#include <string.h>

#include <srdlab/enums.h>

#include "cli/cli.h"
#include "verbs/nearest.h"
#include "verbs/units.h"

static const char prefix[] = "EFA_IO_COMP_STATUS_";

static void print(uint32_t status)
{
	printf("%2u  %s  (%s%s)\n    %s\n    look at: %s\n", status,
	       srd_efa_status_str(status) + strlen(prefix),
	       srd_wc_status_str(srd_efa_status_to_wc(status)),
	       !status                           ? ""
	       : srd_efa_status_is_local(status) ? ", found by the initiator"
						 : ", found by the responder",
	       srd_efa_status_meaning(status), srd_efa_status_look(status));
}

static bool known(uint64_t status)
{
	for (int i = 0; i < SRD_NUM_EFA_STATUS; i++)
		if (srd_efa_status_values[i] == status)
			return true;
	return false;
}

/* Every vendor error that libefa turns into WC. */
static void print_wc(int wc)
{
	bool any = false;

	printf("%s\n", srd_wc_status_str(wc));
	for (int i = 0; i < SRD_NUM_EFA_STATUS; i++) {
		if ((int)srd_efa_status_to_wc(srd_efa_status_values[i]) != wc)
			continue;
		print(srd_efa_status_values[i]);
		any = true;
	}
	if (!any)
		printf("    no vendor error of EFA becomes this one%s\n",
		       wc == SRD_WC_GENERAL_ERR ? ", except one that libefa does not know" : "");
}

static int refuse(const char *text)
{
	const char *names[SRD_NUM_EFA_STATUS + SRD_NUM_WC_STATUS];
	bool full = !strncmp(text, prefix, strlen(prefix));
	const char *like;

	for (int i = 0; i < SRD_NUM_EFA_STATUS; i++)
		names[i] = srd_efa_status_names[i] + (full ? 0 : strlen(prefix));
	memcpy(names + SRD_NUM_EFA_STATUS, srd_wc_status_names, sizeof(srd_wc_status_names));
	like = srd_nearest(text, names, SRD_NUM_EFA_STATUS + SRD_NUM_WC_STATUS);
	if (like)
		return srd_cli_refuse("no status is called \"%s\"; did you mean %s?", text, like);
	return srd_cli_refuse("no status is called \"%s\"", text);
}

static int explain(const char *text)
{
	uint64_t number;
	int value;

	if (!srd_units_parse(SRD_UNIT_NONE, text, &number)) {
		if (!known(number))
			return srd_cli_refuse("EFA defines no vendor error %s", text);
		print(number);
		return SRD_EXIT_PASSED;
	}
	value = srd_efa_status_parse(text);
	if (value >= 0) {
		print(value);
		return SRD_EXIT_PASSED;
	}
	value = srd_wc_status_parse(text);
	if (value < 0)
		return refuse(text);
	print_wc(value);
	return SRD_EXIT_PASSED;
}

int srd_cli_explain(const struct srd_cli_explain_options *options)
{
	int status = SRD_EXIT_PASSED;

	for (int i = 0; i < SRD_NUM_EFA_STATUS && !options->arguments.count; i++)
		print(srd_efa_status_values[i]);
	for (int i = 0; i < options->arguments.count; i++)
		if (explain(options->arguments.items[i]))
			status = SRD_EXIT_USAGE;
	return status;
}
