# What the scanners need is computed when this is built and embedded: a start took a tenth of a second to do it.
set(inspect_tables ${PROJECT_BINARY_DIR}/generated/inspect_)
set(inspect_tables_out ${inspect_tables}text.bin ${inspect_tables}arguments.bin ${inspect_tables}squeezed.bin)
set(inspect_tables_sources tables_gen.cc scan_tables.cc rule_parts.cc signs.cc follow.cc pattern_reader.cc literal_db.cc decode.cc sweep.cc)
list(TRANSFORM inspect_tables_sources PREPEND ${PROJECT_SOURCE_DIR}/src/inspect/)
add_executable(inspect_tables_gen ${inspect_tables_sources})
target_link_libraries(inspect_tables_gen PRIVATE hotcell_inspect_rules hotcell_base hs)
add_custom_command(OUTPUT ${inspect_tables_out} COMMAND inspect_tables_gen ${inspect_tables} DEPENDS inspect_tables_gen VERBATIM)
set(inspect_embed ${PROJECT_BINARY_DIR}/inspect_embed.S)
set(inspect_embed_text ".section .rodata\n")
foreach(part text arguments squeezed)
  string(APPEND inspect_embed_text ".balign 16\n.global hotcell_inspect_${part}_begin\nhotcell_inspect_${part}_begin:\n"
    ".incbin \"${inspect_tables}${part}.bin\"\n.global hotcell_inspect_${part}_end\nhotcell_inspect_${part}_end:\n")
endforeach()
file(CONFIGURE OUTPUT ${inspect_embed} CONTENT "${inspect_embed_text}.section .note.GNU-stack,\"\",%progbits\n" @ONLY)
enable_language(ASM)
target_sources(hotcell_inspect PRIVATE ${inspect_embed})
set_source_files_properties(${inspect_embed} PROPERTIES OBJECT_DEPENDS "${inspect_tables_out}")

# hotcell-inspect: what `hotcell inspect` runs. A program of its own, since ICU and Vectorscan would make the static one
# five times as large.
add_executable(hotcell-inspect ${PROJECT_SOURCE_DIR}/src/inspect/program/inspect_main.cc)
target_link_libraries(hotcell-inspect PRIVATE hotcell_inspect_program)
install(TARGETS hotcell-inspect RUNTIME DESTINATION libexec/hotcell)
if(TARGET inspect_test)
  target_link_libraries(inspect_test PRIVATE boost_json)  # reads the development data
endif()
