"""Which standard header declares a name of namespace std, for the names that
the tree uses."""

NAMES_BY_HEADER = {
    "algorithm": """adjacent_find all_of any_of binary_search clamp copy copy_if copy_n count
        count_if equal equal_range fill fill_n find find_if find_if_not for_each generate
        generate_n includes is_sorted lexicographical_compare lower_bound max max_element min
        min_element minmax_element mismatch none_of nth_element partition partition_point remove
        remove_if replace reverse rotate search set_difference set_intersection shuffle sort
        stable_sort transform unique upper_bound""",
    "array": "array",
    "atomic": "atomic memory_order_acquire memory_order_relaxed memory_order_release",
    "bitset": "bitset",
    "charconv": "chars_format from_chars to_chars",
    "chrono": "chrono",
    "cmath": """ceil exp exp2 expm1 fabs floor isfinite isinf isnan ldexp lgamma llround log log1p
        log2 lround nextafter pow round sqrt trunc""",
    "condition_variable": "condition_variable",
    "cstdio": "FILE fclose fflush fopen fprintf fputs fread fwrite perror printf snprintf sscanf",
    "cstdlib": """_Exit abort atexit atoi calloc exit free getenv malloc realloc strtod strtol
        strtoull system""",
    "cstring": """memchr memcmp memcpy memmove memset strchr strcmp strerror strlen strncmp
        strstr""",
    "deque": "deque",
    "exception": "current_exception exception exception_ptr rethrow_exception terminate",
    "filesystem": "filesystem",
    "fstream": "fstream ifstream ofstream",
    "functional": "function greater hash less plus",
    "future": "async future promise",
    "initializer_list": "initializer_list",
    "iomanip": "setfill setprecision setw",
    "iostream": "cerr cin clog cout",
    "iterator": """back_inserter inserter istreambuf_iterator make_move_iterator
        ostreambuf_iterator reverse_iterator""",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": """addressof allocator enable_shared_from_this make_shared make_unique owner_less
        shared_ptr unique_ptr weak_ptr""",
    "mutex": """call_once lock_guard mutex once_flag recursive_mutex scoped_lock try_to_lock
        unique_lock""",
    "new": "align_val_t bad_alloc nothrow",
    "numeric": "accumulate gcd inner_product iota partial_sum",
    "optional": "make_optional nullopt optional",
    "queue": "priority_queue queue",
    "random": """mt19937 mt19937_64 poisson_distribution random_device uniform_int_distribution
        uniform_real_distribution""",
    "regex": "regex regex_match regex_search smatch",
    "set": "multiset set",
    "shared_mutex": "shared_lock shared_mutex",
    "sstream": "istringstream ostringstream stringstream",
    "stdexcept": """domain_error invalid_argument length_error logic_error out_of_range
        runtime_error""",
    "string": "getline string to_string",
    "string_view": "string_view",
    "system_error": "errc error_code generic_category system_category system_error",
    "thread": "this_thread thread",
    "tuple": "apply make_tuple tie tuple tuple_element tuple_size",
    "type_traits": """conditional_t decay_t enable_if_t invoke_result_t is_base_of_v
        is_convertible_v is_enum_v is_integral_v is_pointer_v is_same_v is_trivially_copyable
        is_unsigned_v make_unsigned_t remove_pointer_t remove_reference_t underlying_type_t""",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set",
    "utility": """declval exchange forward index_sequence make_index_sequence make_pair move pair
        swap""",
    "variant": "get_if holds_alternative monostate variant visit",
    "vector": "vector",
}

HEADERS = {name: header for header, names in NAMES_BY_HEADER.items() for name in names.split()}
