/* SPDX-License-Identifier: MIT */
/* srdlab show: a trace as text. */
#include <errno.h>
#include <stdio.h>

#include "cli/cli.h"
#include "report/show.h"
#include "verbs/alloc.h"
#include "verbs/units.h"

/* The handles that --qp names; *HANDLES is for srd_free in any case. */
static int read_handles(const struct srd_cli_list *list, uint32_t **handles,
			struct srd_error *error)
{
	uint64_t value;

	*handles = srd_reallocarray(NULL, list->count + 1, sizeof(**handles));
	if (!*handles)
		return srd_error_set(error, -ENOMEM, "out of memory");
	for (int i = 0; i < list->count; i++) {
		if (srd_units_parse(SRD_UNIT_NONE, list->items[i], &value) || !value ||
		    value > UINT32_MAX)
			return srd_error_set(error, -EINVAL,
					     "--qp takes the number that a trace gives a queue "
					     "pair, from 1 on, not \"%s\"",
					     list->items[i]);
		(*handles)[i] = (uint32_t)value;
	}
	return 0;
}

int srd_cli_show(const struct srd_cli_show_options *options)
{
	struct srd_show_options show = {
		.num_qps = options->qp.count,
		.types = (const char *const *)options->event.items,
		.num_types = options->event.count,
		.no_events = options->summary,
		.no_summary = options->no_summary,
	};
	struct srd_error error = {0};
	uint32_t *handles = NULL;
	int rc = read_handles(&options->qp, &handles, &error);

	show.qps = handles;
	if (!rc)
		rc = srd_show(options->arguments.items[0], &show, stdout, &error);
	srd_free(handles);
	if (!rc)
		return SRD_EXIT_PASSED;
	fflush(stdout); /* what came before the mistake in the trace */
	srd_cli_error("%s", error.message);
	return rc == -ENOMEM ? SRD_EXIT_INTERNAL : SRD_EXIT_USAGE;
}
