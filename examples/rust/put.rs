// SPDX-License-Identifier: MIT
// rustc --test put.rs $(pkg-config --libs-only-L srdlab) -l srdlab && ./put
//
// The part of srdlab/srdlab.h that the test needs, by hand; bindgen writes the rest.
use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr::{null, null_mut};

#[repr(C)]
struct Limit {
    name: *const c_char,
    value: u64,
}

#[repr(C)]
struct Options {
    profile: *const c_char,
    seed: u64,
    rules: *const c_char,
    limits: *const Limit,
    num_limits: u32,
}

#[repr(C)]
struct Error {
    code: c_int,
    message: [c_char; 508],
}

#[repr(C)]
struct OpResult {
    cookie: u64,
    result: c_int,
    wr_id: u64,
    status: u32,
    vendor_err: u32,
    num_wr: u32,
    error: Error,
}

#[repr(C)]
struct Side {
    context: *mut c_void,
    pd: *mut c_void,
    cq: *mut c_void,
    buffer: *mut c_void,
    mr: *mut c_void,
    qp: *mut c_void,
    scheduler: *mut c_void,
}

#[repr(C)]
struct Pair {
    a: Side,
    b: Side,
}

#[repr(C)]
struct Violation {
    rule: *const c_char,
    statement: *const c_char,
    evidence: *const c_char,
    timeline: *const c_char,
    time: u64,
    count: u64,
}

const PUT: u32 = 0;
const GET: u32 = 1;

extern "C" {
    fn srdlab_open(o: *const Options, lab: *mut *mut c_void, e: *mut Error) -> c_int;
    fn srdlab_close(lab: *mut c_void);
    fn srdlab_pair_open(lab: *mut c_void, o: *const c_void, p: *mut Pair, e: *mut Error) -> c_int;
    fn srdlab_pair_close(lab: *mut c_void, pair: *mut Pair);
    fn srdlab_submit(p: *mut Pair, kind: u32, offset: u64, size: u64, cookie: u64, e: *mut Error) -> c_int;
    fn srdlab_wait(lab: *mut c_void, scheduler: *mut c_void, out: *mut OpResult, e: *mut Error) -> c_int;
    fn srdlab_judge(lab: *mut c_void, e: *mut Error) -> c_int;
    fn srdlab_violation(lab: *const c_void, index: u32, out: *mut Violation) -> c_int;
    fn srdlab_trace_hash(lab: *const c_void) -> u64;
}

/// Put 2,500 bytes in chunks of 1,000 and get them back; the hash of all that happened.
fn transfer(seed: u64) -> u64 {
    let limits = [Limit { name: c_text(b"max_rdma_size\0"), value: 1000 }];
    let options = Options { profile: null(), seed, rules: null(), limits: limits.as_ptr(), num_limits: 1 };
    let mut lab = null_mut();
    unsafe {
        assert_eq!(srdlab_open(&options, &mut lab, null_mut()), 0);
        let mut pair: Pair = std::mem::zeroed();
        assert_eq!(srdlab_pair_open(lab, null(), &mut pair, null_mut()), 0);
        for kind in [PUT, GET] {
            let mut result: OpResult = std::mem::zeroed();
            assert_eq!(srdlab_submit(&mut pair, kind, 0, 2500, kind as u64, null_mut()), 0);
            assert_eq!(srdlab_wait(lab, pair.a.scheduler, &mut result, null_mut()), 0);
            assert_eq!((result.cookie, result.result, result.num_wr), (kind as u64, 0, 3));
        }
        srdlab_pair_close(lab, &mut pair);
        if srdlab_judge(lab, null_mut()) != 0 {
            let mut violation: Violation = std::mem::zeroed();
            srdlab_violation(lab, 0, &mut violation);
            panic!("{:?}: {:?}", CStr::from_ptr(violation.rule), CStr::from_ptr(violation.evidence));
        }
        let hash = srdlab_trace_hash(lab);
        srdlab_close(lab);
        hash
    }
}

fn c_text(text: &'static [u8]) -> *const c_char {
    text.as_ptr() as *const c_char
}

#[test]
fn what_was_put_comes_back() {
    transfer(1);
}

#[test]
fn the_same_seed_is_the_same_run() {
    assert_eq!(transfer(1), transfer(1));
    assert_ne!(transfer(1), transfer(2));
}
