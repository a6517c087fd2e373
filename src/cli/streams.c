/* SPDX-License-Identifier: MIT */
#include "cli/streams.h"

bool srd_cli_streams_wanted(const struct srd_cli_trace *options)
{
	return options->trace || options->timeline;
}

static void add(struct srd_run_config *config, srd_event_fn *fn, void *reader)
{
	config->readers[config->num_readers].fn = fn;
	config->readers[config->num_readers++].reader = reader;
}

int srd_cli_streams_open(const struct srd_cli_trace *options, const struct srd_trace_run *run,
			 struct srd_cli_streams *streams, struct srd_run_config *config,
			 struct srd_error *error)
{
	int rc = 0;

	*streams = (struct srd_cli_streams){0};
	if (options->trace)
		rc = srd_trace_create(options->trace, run, &streams->trace, error);
	if (!rc && options->timeline)
		rc = srd_timeline_create(options->timeline, &streams->timeline, error);
	if (rc)
		return rc;
	if (streams->trace)
		add(config, srd_trace_event, streams->trace);
	if (streams->timeline)
		add(config, srd_timeline_event, streams->timeline);
	return 0;
}

int srd_cli_streams_close(struct srd_cli_streams *streams, struct srd_error *error)
{
	int rc = srd_trace_close(streams->trace, error);
	int second = srd_timeline_close(streams->timeline, rc ? NULL : error);

	*streams = (struct srd_cli_streams){0};
	return rc ? rc : second;
}
