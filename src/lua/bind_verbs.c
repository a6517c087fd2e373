/* SPDX-License-Identifier: MIT */
/*
 * The seam itself: host.verbs, q.verbs and the objects that they make. Names, order of
 * calls and results are rdma-core's: an errno comes as its name ("OK" where there is none),
 * a failed creation as nil and the errno's name.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bindings.h"
#include "marshal.h"

#define MAX_SGE 16

static struct srd_verbs *verbs_of(lua_State *L)
{
	return srd_run_of(L)->verbs;
}

struct srd_object *srd_verbs_object_new(lua_State *L, enum srd_object_type type,
					struct srd_host *host, bool borrowed)
{
	struct srd_verbs_object *o = srd_object_new(L, type, sizeof(*o), 0);

	o->object.borrowed = borrowed;
	o->object.line = srd_run_of(L)->stream.line;
	o->host = host;
	srd_object_keep(L, o);
	return &o->object;
}

void *srd_verbs_check(lua_State *L, int index, enum srd_object_type type)
{
	struct srd_object *object = srd_object_check(L, index, type);

	return object->verbs;
}

int srd_verbs_made(lua_State *L, struct srd_object *object, void *verbs)
{
	int error = errno;

	if (verbs) {
		object->verbs = verbs;
		return 1;
	}
	srd_object_drop(L, object);
	lua_pushnil(L);
	srd_push_errno(L, error);
	return 2;
}

int srd_verbs_answer(lua_State *L, int error)
{
	srd_push_errno(L, error);
	return 1;
}

int srd_verbs_destroyed(lua_State *L, struct srd_object *object, int error)
{
	if (!error)
		srd_object_drop(L, object);
	return srd_verbs_answer(L, error);
}

struct srd_verbs_object *srd_verbs_check_destroy(lua_State *L, enum srd_object_type type)
{
	struct srd_verbs_object *o = srd_object_check(L, 1, type);

	if (o->object.borrowed)
		srd_raise(L, "this %s belongs to the %s that made it and ends with it",
			  srd_object_name(type), type == SRD_OBJECT_QP ? "queue pair" : "host");
	srd_run_at(L);
	return o;
}

static int filled(lua_State *L, const struct srd_struct *type, const void *in, int error)
{
	if (!error) {
		srd_marshal_to(L, type, in);
		return 1;
	}
	lua_pushnil(L);
	srd_push_errno(L, error);
	return 2;
}

/* ---- a device ---- */

static struct srd_verbs_object *check_context(lua_State *L)
{
	srd_run_at(L);
	return srd_object_check(L, 1, SRD_OBJECT_CONTEXT);
}

static int query_device(lua_State *L)
{
	struct srd_verbs_object *o = check_context(L);
	struct srd_device_attr attr = {0};
	int ret = verbs_of(L)->query_device(verbs_of(L), o->object.verbs, &attr);

	return filled(L, &srd_struct_device_attr, &attr, ret);
}

static int efa_query_device(lua_State *L)
{
	struct srd_verbs_object *o = check_context(L);
	struct srd_efa_device_attr attr = {0};
	int ret = verbs_of(L)->efa_query_device(verbs_of(L), o->object.verbs, &attr);

	return filled(L, &srd_struct_efa_device_attr, &attr, ret);
}

static uint8_t port_argument(lua_State *L, int index)
{
	return lua_isnoneornil(L, index) ? 1
					 : (uint8_t)srd_check_uint(L, index, "port_num", UINT8_MAX);
}

static int query_port(lua_State *L)
{
	struct srd_verbs_object *o = check_context(L);
	struct srd_port_attr attr = {0};
	int ret = verbs_of(L)->query_port(verbs_of(L), o->object.verbs, port_argument(L, 2), &attr);

	return filled(L, &srd_struct_port_attr, &attr, ret);
}

static int query_gid(lua_State *L)
{
	struct srd_verbs_object *o = check_context(L);
	char text[INET6_ADDRSTRLEN];
	union srd_gid gid = {{0}};
	int index = lua_isnoneornil(L, 3) ? 0 : (int)srd_check_uint(L, 3, "index", INT32_MAX);
	int ret = verbs_of(L)->query_gid(verbs_of(L), o->object.verbs, port_argument(L, 2), index,
					 &gid);

	if (ret) {
		lua_pushnil(L);
		srd_push_errno(L, ret);
		return 2;
	}
	lua_pushstring(L, inet_ntop(AF_INET6, gid.raw, text, sizeof(text)));
	return 1;
}

static int open_device(lua_State *L)
{
	struct srd_verbs_object *o = check_context(L);
	const char *name = luaL_optstring(L, 2, NULL);
	struct srd_object *made_object =
		srd_verbs_object_new(L, SRD_OBJECT_CONTEXT, o->host, false);

	return srd_verbs_made(L, made_object,
			      verbs_of(L)->open_device(verbs_of(L), o->host->index, name));
}

static int close_device(lua_State *L)
{
	struct srd_verbs_object *o = srd_verbs_check_destroy(L, SRD_OBJECT_CONTEXT);

	return srd_verbs_destroyed(L, &o->object,
				   verbs_of(L)->close_device(verbs_of(L), o->object.verbs));
}

static int alloc_pd(lua_State *L)
{
	struct srd_verbs_object *o = check_context(L);
	struct srd_object *pd = srd_verbs_object_new(L, SRD_OBJECT_PD, o->host, false);

	return srd_verbs_made(L, pd, verbs_of(L)->alloc_pd(verbs_of(L), o->object.verbs));
}

static int create_cq(lua_State *L)
{
	struct srd_verbs_object *o = check_context(L);
	uint32_t cqe = (uint32_t)srd_check_uint(L, 2, "create_cq: cqe", UINT32_MAX);
	struct srd_object *cq = srd_verbs_object_new(L, SRD_OBJECT_CQ, o->host, false);

	return srd_verbs_made(L, cq, verbs_of(L)->create_cq(verbs_of(L), o->object.verbs, cqe));
}

static int create_cq_ex(lua_State *L)
{
	struct srd_verbs_object *o = check_context(L);
	struct srd_cq_init_attr_ex attr = {0};
	struct srd_object *cq;

	srd_marshal_from(L, 2, &srd_struct_cq_init_attr_ex, &attr);
	cq = srd_verbs_object_new(L, SRD_OBJECT_CQ, o->host, false);
	return srd_verbs_made(L, cq,
			      verbs_of(L)->create_cq_ex(verbs_of(L), o->object.verbs, &attr));
}

static int create_comp_channel(lua_State *L)
{
	struct srd_verbs_object *o = check_context(L);
	struct srd_object *channel =
		srd_verbs_object_new(L, SRD_OBJECT_COMP_CHANNEL, o->host, false);

	return srd_verbs_made(L, channel,
			      verbs_of(L)->create_comp_channel(verbs_of(L), o->object.verbs));
}

/*
 * What a script does not say is what the EFA SRD queue pair asks for. One of another type is
 * created without EFA's attributes, unless they are given.
 */
static int create_qp_ex(lua_State *L)
{
	struct srd_verbs_object *o = check_context(L);
	struct srd_qp_init_attr_ex attr = {
		.pd = o->host->pd->verbs,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_RDMA_WRITE | SRD_QP_EX_WITH_RDMA_READ,
	};
	struct srd_efa_qp_init_attr efa = {.driver_qp_type = SRD_EFADV_QP_DRIVER_TYPE_SRD};
	struct srd_object *qp;
	bool given;

	srd_marshal_from(L, 2, &srd_struct_qp_init_attr, &attr);
	given = lua_getfield(L, 2, "efa") == LUA_TTABLE;
	if (given)
		srd_marshal_from(L, -1, &srd_struct_efa_qp_init_attr, &efa);
	qp = srd_verbs_object_new(L, SRD_OBJECT_QP, o->host, false);
	return srd_verbs_made(
		L, qp,
		verbs_of(L)->create_qp_ex(verbs_of(L), o->object.verbs, &attr,
					  given || attr.qp_type == SRD_QPT_DRIVER ? &efa : NULL));
}

static bool context_property(lua_State *L, const char *name)
{
	struct srd_verbs_object *o = lua_touserdata(L, 1);

	if (!strcmp(name, "pd"))
		srd_object_push(L, o->host->pd);
	else if (!strcmp(name, "name"))
		lua_pushstring(L, ((struct srd_context *)o->object.verbs)->name);
	else
		return false;
	return true;
}

static const luaL_Reg context_methods[] = {
	{"query_device", query_device}, {"efa_query_device", efa_query_device},
	{"query_port", query_port},     {"query_gid", query_gid},
	{"open_device", open_device},   {"close_device", close_device},
	{"alloc_pd", alloc_pd},         {"create_cq", create_cq},
	{"create_cq_ex", create_cq_ex}, {"create_comp_channel", create_comp_channel},
	{"create_qp_ex", create_qp_ex}, {NULL, NULL},
};

/* ---- a protection domain ---- */

/* pd:reg_mr(memory or { addr, size }, access) */
static int reg_mr(lua_State *L)
{
	struct srd_verbs_object *o = srd_object_check(L, 1, SRD_OBJECT_PD);
	struct srd_view view;
	uint32_t access;
	struct srd_object *mr;

	srd_run_at(L);
	srd_view_check(L, 2, "pd:reg_mr", true, &view);
	access = srd_check_flags(L, 3, "pd:reg_mr: access", &srd_names_access_flags);
	mr = srd_verbs_object_new(L, SRD_OBJECT_MR, o->host, false);
	return srd_verbs_made(
		L, mr,
		verbs_of(L)->reg_mr(verbs_of(L), o->object.verbs, view.addr, view.size, access));
}

static int create_ah(lua_State *L)
{
	struct srd_verbs_object *o = srd_object_check(L, 1, SRD_OBJECT_PD);
	struct srd_ah_attr attr = {.is_global = 1, .port_num = 1};
	struct srd_object *ah;

	srd_run_at(L);
	srd_marshal_from(L, 2, &srd_struct_ah_attr, &attr);
	ah = srd_verbs_object_new(L, SRD_OBJECT_AH, o->host, false);
	return srd_verbs_made(L, ah, verbs_of(L)->create_ah(verbs_of(L), o->object.verbs, &attr));
}

static int dealloc_pd(lua_State *L)
{
	struct srd_verbs_object *o = srd_verbs_check_destroy(L, SRD_OBJECT_PD);

	return srd_verbs_destroyed(L, &o->object,
				   verbs_of(L)->dealloc_pd(verbs_of(L), o->object.verbs));
}

static const luaL_Reg pd_methods[] = {
	{"reg_mr", reg_mr},
	{"create_ah", create_ah},
	{"dealloc_pd", dealloc_pd},
	{NULL, NULL},
};

/* ---- memory regions and address handles ---- */

static int dereg_mr(lua_State *L)
{
	struct srd_verbs_object *o = srd_verbs_check_destroy(L, SRD_OBJECT_MR);

	return srd_verbs_destroyed(L, &o->object,
				   verbs_of(L)->dereg_mr(verbs_of(L), o->object.verbs));
}

static bool mr_property(lua_State *L, const char *name)
{
	const struct srd_mr *mr = ((struct srd_object *)lua_touserdata(L, 1))->verbs;

	if (!strcmp(name, "lkey"))
		lua_pushinteger(L, mr->lkey);
	else if (!strcmp(name, "rkey"))
		lua_pushinteger(L, mr->rkey);
	else if (!strcmp(name, "addr"))
		lua_pushinteger(L, (lua_Integer)mr->addr);
	else if (!strcmp(name, "length"))
		lua_pushinteger(L, (lua_Integer)mr->length);
	else
		return false;
	return true;
}

static const luaL_Reg mr_methods[] = {{"dereg_mr", dereg_mr}, {NULL, NULL}};

static int destroy_ah(lua_State *L)
{
	struct srd_verbs_object *o = srd_verbs_check_destroy(L, SRD_OBJECT_AH);

	return srd_verbs_destroyed(L, &o->object,
				   verbs_of(L)->destroy_ah(verbs_of(L), o->object.verbs));
}

static const luaL_Reg ah_methods[] = {{"destroy_ah", destroy_ah}, {NULL, NULL}};

/* ---- a queue pair ---- */

static struct srd_qp *check_qp(lua_State *L)
{
	srd_run_at(L);
	return srd_verbs_check(L, 1, SRD_OBJECT_QP);
}

/* The mask that a table says itself, or else what its fields stand for. */
static uint32_t explicit_mask(lua_State *L, int index, uint32_t mask)
{
	if (lua_getfield(L, index, "mask") != LUA_TNIL)
		mask = srd_check_flags(L, -1, "qp_attr: mask", &srd_names_qp_attr_mask);
	lua_pop(L, 1);
	return mask;
}

static int modify_qp(lua_State *L)
{
	struct srd_qp *qp = check_qp(L);
	struct srd_qp_attr attr = {0};
	uint32_t mask = srd_marshal_from(L, 2, &srd_struct_qp_attr, &attr);

	mask = explicit_mask(L, 2, mask);
	return srd_verbs_answer(L, verbs_of(L)->modify_qp(verbs_of(L), qp, &attr, mask));
}

static int query_qp(lua_State *L)
{
	struct srd_qp *qp = check_qp(L);
	struct srd_qp_attr attr = {0};
	uint32_t mask = SRD_QP_STATE;

	if (!lua_isnoneornil(L, 2))
		mask = srd_check_flags(L, 2, "query: mask", &srd_names_qp_attr_mask);
	return filled(L, &srd_struct_qp_attr, &attr,
		      verbs_of(L)->query_qp(verbs_of(L), qp, &attr, mask));
}

static int wr_start(lua_State *L)
{
	verbs_of(L)->wr_start(verbs_of(L), check_qp(L));
	return 0;
}

/* The fields of a builder; wr_id and flags go where the builder looks for them. */
static struct srd_qp *check_wr(lua_State *L, struct srd_wr_options *wr)
{
	struct srd_qp *qp = check_qp(L);

	*wr = (struct srd_wr_options){.flags = SRD_SEND_SIGNALED};
	srd_marshal_from(L, 2, &srd_struct_wr, wr);
	qp->wr_id = wr->wr_id;
	qp->wr_flags = wr->flags;
	return qp;
}

static int wr_rdma_write(lua_State *L)
{
	struct srd_wr_options wr;
	struct srd_qp *qp = check_wr(L, &wr);

	verbs_of(L)->wr_rdma_write(verbs_of(L), qp, wr.rkey, wr.remote_addr);
	return 0;
}

static int wr_rdma_write_imm(lua_State *L)
{
	struct srd_wr_options wr;
	struct srd_qp *qp = check_wr(L, &wr);

	verbs_of(L)->wr_rdma_write_imm(verbs_of(L), qp, wr.rkey, wr.remote_addr, wr.imm_data);
	return 0;
}

static int wr_rdma_read(lua_State *L)
{
	struct srd_wr_options wr;
	struct srd_qp *qp = check_wr(L, &wr);

	verbs_of(L)->wr_rdma_read(verbs_of(L), qp, wr.rkey, wr.remote_addr);
	return 0;
}

static int wr_send(lua_State *L)
{
	struct srd_wr_options wr;
	struct srd_qp *qp = check_wr(L, &wr);

	verbs_of(L)->wr_send(verbs_of(L), qp);
	return 0;
}

static int wr_send_imm(lua_State *L)
{
	struct srd_wr_options wr;
	struct srd_qp *qp = check_wr(L, &wr);

	verbs_of(L)->wr_send_imm(verbs_of(L), qp, wr.imm_data);
	return 0;
}

/* Memory, or a table { addr, length, lkey }. */
static void check_sge(lua_State *L, int index, struct srd_sge *sge)
{
	struct srd_view view;

	*sge = (struct srd_sge){0};
	if (lua_istable(L, index)) {
		srd_marshal_from(L, index, &srd_struct_sge, sge);
		return;
	}
	srd_view_check(L, index, "a scatter/gather entry", true, &view);
	if (view.size > UINT32_MAX)
		srd_raise(L, "a scatter/gather entry: %I bytes are too many: at most 4294967295",
			  (lua_Integer)view.size);
	*sge = (struct srd_sge){view.addr, (uint32_t)view.size, view.key};
}

/* A list of entries, or one by itself. */
static int check_sges(lua_State *L, int index, struct srd_sge *sges)
{
	int n = 0;

	index = lua_absindex(L, index);
	if (lua_isnoneornil(L, index))
		return 0;
	if (!lua_istable(L, index) || lua_getfield(L, index, "length") != LUA_TNIL) {
		check_sge(L, index, sges);
		return 1;
	}
	lua_pop(L, 1);
	while (lua_rawgeti(L, index, n + 1) != LUA_TNIL) {
		if (n == MAX_SGE)
			srd_raise(L, "more than %d scatter/gather entries", MAX_SGE);
		check_sge(L, -1, &sges[n++]);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return n;
}

static int wr_set_sge(lua_State *L)
{
	struct srd_qp *qp = check_qp(L);
	struct srd_sge sge;

	check_sge(L, 2, &sge);
	verbs_of(L)->wr_set_sge(verbs_of(L), qp, sge.lkey, sge.addr, sge.length);
	return 0;
}

static int wr_set_sge_list(lua_State *L)
{
	struct srd_qp *qp = check_qp(L);
	struct srd_sge sges[MAX_SGE];
	int n = check_sges(L, 2, sges);

	verbs_of(L)->wr_set_sge_list(verbs_of(L), qp, (uint32_t)n, sges);
	return 0;
}

static int wr_set_inline_data(lua_State *L)
{
	struct srd_qp *qp = check_qp(L);
	struct srd_sge sge;

	check_sge(L, 2, &sge);
	verbs_of(L)->wr_set_inline_data(verbs_of(L), qp, sge.addr, sge.length);
	return 0;
}

static int wr_set_ud_addr(lua_State *L)
{
	struct srd_qp *qp = check_qp(L);
	struct srd_ud_addr_options to = {.remote_qkey = SRD_DEFAULT_QKEY};

	srd_marshal_from(L, 2, &srd_struct_ud_addr, &to);
	verbs_of(L)->wr_set_ud_addr(verbs_of(L), qp, to.ah, to.remote_qpn, to.remote_qkey);
	return 0;
}

static int wr_complete(lua_State *L)
{
	return srd_verbs_answer(L, verbs_of(L)->wr_complete(verbs_of(L), check_qp(L)));
}

static int wr_abort(lua_State *L)
{
	verbs_of(L)->wr_abort(verbs_of(L), check_qp(L));
	return 0;
}

static int post_recv(lua_State *L)
{
	struct srd_qp *qp = check_qp(L);
	struct srd_sge sges[MAX_SGE];
	struct srd_recv_wr wr = {0}, *bad = NULL;

	srd_marshal_from(L, 2, &srd_struct_recv_wr, &wr);
	lua_getfield(L, 2, "sg_list");
	wr.num_sge = check_sges(L, -1, sges);
	wr.sg_list = sges;
	return srd_verbs_answer(L, verbs_of(L)->post_recv(verbs_of(L), qp, &wr, &bad));
}

/* qp:next_request(n), as q:next_request(n) */
static int next_request(lua_State *L)
{
	return srd_request_next(L, srd_object_check(L, 1, SRD_OBJECT_QP), "qp:next_request");
}

static int destroy_qp(lua_State *L)
{
	struct srd_verbs_object *o = srd_verbs_check_destroy(L, SRD_OBJECT_QP);

	return srd_verbs_destroyed(L, &o->object,
				   verbs_of(L)->destroy_qp(verbs_of(L), o->object.verbs));
}

static bool qp_property(lua_State *L, const char *name)
{
	const struct srd_qp *qp = ((struct srd_object *)lua_touserdata(L, 1))->verbs;

	if (!strcmp(name, "qp_num"))
		lua_pushinteger(L, qp->qp_num);
	else if (!strcmp(name, "state"))
		srd_push_enum(L, &srd_names_qp_state, qp->state);
	else
		return false;
	return true;
}

static const luaL_Reg qp_methods[] = {
	{"modify", modify_qp},
	{"query", query_qp},
	{"wr_start", wr_start},
	{"wr_rdma_write", wr_rdma_write},
	{"wr_rdma_write_imm", wr_rdma_write_imm},
	{"wr_rdma_read", wr_rdma_read},
	{"wr_send", wr_send},
	{"wr_send_imm", wr_send_imm},
	{"wr_set_sge", wr_set_sge},
	{"wr_set_sge_list", wr_set_sge_list},
	{"wr_set_inline_data", wr_set_inline_data},
	{"wr_set_ud_addr", wr_set_ud_addr},
	{"wr_complete", wr_complete},
	{"wr_abort", wr_abort},
	{"post_recv", post_recv},
	{"next_request", next_request},
	{"destroy_qp", destroy_qp},
	{NULL, NULL},
};

void srd_bind_verbs(lua_State *L)
{
	static const struct srd_class classes[] = {
		{SRD_OBJECT_CONTEXT, context_methods, context_property},
		{SRD_OBJECT_PD, pd_methods, NULL},
		{SRD_OBJECT_MR, mr_methods, mr_property},
		{SRD_OBJECT_AH, ah_methods, NULL},
		{SRD_OBJECT_QP, qp_methods, qp_property},
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		srd_class_register(L, &classes[i]);
	srd_bind_cq(L);
}
